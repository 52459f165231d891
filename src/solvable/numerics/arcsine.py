"""The arcsine without branches, so that sums over it run in vector registers: an eighth of the C library's time.

Up to |x| = 0.6 it is x + x z P(z) with z = x^2; beyond, pi/2 - 2 asin(sqrt(z)) with z = (1 - |x|)/2, by the same polynomial.
P is the one of degree 13 whose largest relative error on 0 <= z <= 0.36 is the least, 4e-17; rounding makes it 3.3e-16.
"""

import math

from solvable.numerics.compiled import compiled

HALF_PI = 0.5 * math.pi


@compiled(inline=True)
def arcsine(x):
    """asin x; rounding may have carried |x| beyond 1, which counts as 1."""
    size = abs(x)
    far = size > 0.6
    z = max(0.0, 0.5 - 0.5 * size) if far else x * x
    root = math.sqrt(z) if far else size
    P = 0.08920060314732953
    P = P * z - 0.14409234871359797
    P = P * z + 0.13749189731070688
    P = P * z - 0.0631361618691501
    P = P * z + 0.033792004264675046
    P = P * z + 0.0033677057516833557
    P = P * z + 0.01269353990027639
    P = P * z + 0.013820216530307189
    P = P * z + 0.017365578443217455
    P = P * z + 0.022371388300311393
    P = P * z + 0.03038197434903161
    P = P * z + 0.04464285645670269
    P = P * z + 0.07500000000794306
    P = P * z + 0.1666666666666345
    near = root + root * z * P
    return math.copysign(HALF_PI - 2.0 * near if far else near, x)
