"""Conversion of parameters as in LightGBM.

They reach it as text, which it reads digit by digit in double precision. So 0.9553 may become its
neighbour, and every leaf with it.
"""


def as_read(value):
    """Return the float that LightGBM reads in place of a number of at least 0."""
    mantissa, _, exponent = f"{value}".partition("e")
    whole, _, part = mantissa.partition(".")
    found = digits(whole) + digits(part) / power(10.0, len(part))
    if not exponent:
        return found
    scale, left = 1.0, abs(int(exponent))
    for step, factor in ((50, 1e50), (8, 1e8), (1, 10.0)):
        for _ in range(left // step):
            scale *= factor
        left %= step
    return found / scale if exponent.startswith("-") else found * scale


def digits(text):
    """Return the number that digits stand for."""
    found = 0.0
    for digit in text:
        found = found * 10.0 + int(digit)
    return found


def power(base, count):
    """Return a power, by the products that the library forms."""
    if count == 0:
        return 1.0
    if count % 2 == 0:
        return power(base * base, count // 2)
    if count % 3 == 0:
        return power(base * base * base, count // 3)
    return base * power(base, count - 1)
