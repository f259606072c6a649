"""CityHash64 of texts, version 1 (Pike and Alakuijala, 2011), by which CatBoost numbers ties."""

WORD = (1 << 64) - 1
K0, K1, K2, K3 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F, 0xC949D7C7509E6557
MULTIPLIER = 0x9DDFEA08EB382D69


def city_hash(text):
    """Return CityHash64 of a text in UTF-8, an int below 2⁶⁴."""
    data = text.encode()
    n = len(data)
    if n <= 16:
        return hash_16(data)
    if n <= 32:
        return hash_32(data)
    return hash_64(data) if n <= 64 else hash_long(data)


def load(data, at, size=8):
    """Return bytes from a position on (from the end if it is negative) as an unsigned int."""
    at += len(data) if at < 0 else 0
    return int.from_bytes(data[at : at + size], "little")


def rotate(value, shift):
    """Return a 64-bit value rotated to the right."""
    value &= WORD
    return ((value >> shift) | (value << (64 - shift))) & WORD


def mix(value):
    """Return a 64-bit value with its high bits mixed into the low ones."""
    value &= WORD
    return value ^ (value >> 47)


def join(low, high):
    """Return the hash of two 64-bit values."""
    low, high = low & WORD, high & WORD
    a = mix((low ^ high) * MULTIPLIER)
    b = mix((high ^ a) * MULTIPLIER)
    return b * MULTIPLIER & WORD


def hash_16(data):
    """Return the hash of at most 16 bytes."""
    n = len(data)
    if n > 8:
        b = load(data, -8)
        return join(load(data, 0), rotate(b + n, n)) ^ b
    if n >= 4:
        return join(n + (load(data, 0, 4) << 3), load(data, -4, 4))
    if n == 0:
        return K2
    y, z = data[0] + (data[n >> 1] << 8), n + (data[-1] << 2)
    return mix(y * K2 ^ z * K3) * K2 & WORD


def hash_32(data):
    """Return the hash of 17 to 32 bytes."""
    a, b = load(data, 0) * K1, load(data, 8)
    c, d = load(data, -8) * K2, load(data, -16) * K0
    return join(rotate(a - b, 43) + rotate(c, 30) + d, a + rotate(b ^ K3, 20) - c + len(data))


def hash_64(data):
    """Return the hash of 33 to 64 bytes."""
    a = load(data, 0) + (len(data) + load(data, -16)) * K0
    first = half_of_64(a, load(data, 24), load(data, 8), load(data, 16))
    a = load(data, 16) + load(data, -32)
    second = half_of_64(a, load(data, -8), load(data, -24), load(data, -16))
    r = mix((first[0] + second[1]) * K2 + (second[0] + first[1]) * K0)
    return mix(r * K0 + first[1]) * K2 & WORD


def half_of_64(a, z, second, third):
    """Return two 64-bit values of half of the bytes of `hash_64`."""
    b, c = rotate(a + z, 52), rotate(a, 37)
    a += second
    c += rotate(a, 7)
    a += third
    return a + z, b + rotate(a, 31) + c


def weak(data, at, a, b):
    """Return two 64-bit values of 32 bytes from a position on, and two seeds."""
    at += len(data) if at < 0 else 0
    w, x, y, z = (load(data, at + 8 * i) for i in range(4))
    a += w
    b = rotate(b + a + z, 21)
    c = a
    a += x + y
    b += rotate(a, 44)
    return (a + z) & WORD, (b + c) & WORD


def hash_long(data):
    """Return the hash of more than 64 bytes."""
    n = len(data)
    x, y, z = load(data, 0), load(data, -16) ^ K1, load(data, -56) ^ K0
    v, w = weak(data, -64, n, y), weak(data, -32, n * K1, K0)
    z += mix(v[1]) * K1
    x, y = rotate(z + x, 39) * K1, rotate(y, 33) * K1
    for at in range(0, (n - 1) // 64 * 64, 64):
        x = (rotate(x + y + v[0] + load(data, at + 16), 37) * K1 & WORD) ^ w[1]
        y = (rotate(y + v[1] + load(data, at + 48), 42) * K1 & WORD) ^ v[0]
        z = rotate((z & WORD) ^ w[0], 33)
        v = weak(data, at, v[1] * K1, x + w[0])
        w = weak(data, at + 32, z + w[1], y)
        z, x = x, z
    return join(join(v[0], w[0]) + mix(y) * K1 + z, join(v[1], w[1]) + x)
