"""Conversion of parameters to floats as in LightGBM.

LightGBM receives parameters as text and parses them digit by digit in float64. So a value such as
0.9553 may become an adjacent float, which changes every leaf.
"""


def as_read(value):
    """Return the float that LightGBM parses from the text of a number ≥ 0."""
    mantissa, _, exponent = f"{value}".partition("e")
    whole, _, part = mantissa.partition(".")
    value = digits(whole) + digits(part) / power(10.0, len(part))
    if not exponent:
        return value
    scale, left = 1.0, abs(int(exponent))
    for step, factor in ((50, 1e50), (8, 1e8), (1, 10.0)):
        for _ in range(left // step):
            scale *= factor
        left %= step
    return value / scale if exponent.startswith("-") else value * scale


def digits(text):
    """Return the integer written as text, computed in float64."""
    value = 0.0
    for digit in text:
        value = value * 10.0 + int(digit)
    return value


def power(base, count):
    """Return a power, by the same products as in LightGBM."""
    if count == 0:
        return 1.0
    if count % 2 == 0:
        return power(base * base, count // 2)
    if count % 3 == 0:
        return power(base * base * base, count // 3)
    return base * power(base, count - 1)
