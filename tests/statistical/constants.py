"""The one place that says how sure, how many, and how far off: every law test uses these numbers and no others."""

from __future__ import annotations

# A sample fits a law if its p-value is above this, and contradicts it if below. Samples of ours come from fixed seeds,
# so a test that passed once always passes; of the tests that compare with fresh samples of another library, one in 10^9
# fails by chance.
P_VALUE = 1e-9

# A test must accept the claimed parameter and reject it changed by this much either way, so it cannot pass by being
# weak.
PERTURBATION = 0.2
FACTORS = (1 - PERTURBATION, 1 + PERTURBATION)

# Numbers in a sample. At 20 % off, chi-square is then in the thousands for every law here.
SAMPLES = 100_000

# A coin of 1/1000 shows so rarely that 20 % off needs more: chi-square is n * 0.001 * 0.2² / 1.2 = 67, p about 10^-16.
COINS = 2_000_000

# Orders of a few candidates, one run of the selection each. Fewer, because each run costs some 100 microseconds. The
# first places of the priors' case, 20 % off, tell least: chi-square is about 172, and misses one time in 10^10.
ORDERS = 10_000

# Neighbouring numbers are put together into cells of chi-square that hold about one in CELLS of the sample; no cell is
# expected to hold fewer than LEAST_EXPECTED numbers, where chi-square would be a poor approximation.
CELLS = 60
LEAST_EXPECTED = 25

# The seed of every source here. Any other does as well.
SEED = 20240501
