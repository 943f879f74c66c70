"""The only source of randomness: no privacy claims here, only laws that are drawn from exactly.

One idea carries all samplers. A uniform number is an endless row of random bits, given by a pseudo-random function and
read only as far as needed. A double-precision formula decides almost every comparison, with a proven margin; the few
that fall inside the margin (about one in 2^36) are settled by certified decimal arithmetic on more bits. So floating
point makes the samplers fast and cannot bias them, and every draw uses the same number of random words, whatever its
value.
"""
