"""Who has what on Spark: one kept shuffle by person, which every round and every sum goes on from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from hushcount.engines.engine import refuse_sequential
from hushcount.engines.spark import clipped, lists
from hushcount.engines.spark.blocks import SparkCounts, SparkSums, SparkWeights
from hushcount.engines.spark.lists import allowed_pairs, matched_pairs, people_hold, smallest_hashes, together
from hushcount.engines.spark.session import Session, attempt
from hushcount.errors import InvalidParameter
from hushcount.model.amounts import whole
from hushcount.model.inputs import (
    LARGEST,
    Bound,
    Clip,
    Histogram,
    Int64s,
    Items,
    LengthWeights,
    Ranked,
    UniformWeights,
    UserLists,
)

if TYPE_CHECKING:
    from hushcount.model.inputs import Incidence

_Frame: TypeAlias = Any  # pyspark.sql.DataFrame; pyspark is imported only where it is used

# Squares of finer weights would not fit into 64 bits.
_FINEST = 30


@dataclass(frozen=True, kw_only=True)
class SparkIncidence:
    """Who has what, as a kept DataFrame of distinct texts person and item, and how many items the person holds.

    Each person's pairs are in one partition, and partitions are sorted by person.
    """

    name: str
    session: Session
    pairs: _Frame

    def weights(self, rule: UniformWeights) -> SparkWeights:
        """Sum of everyone's uniform weights after bounding: one shuffle."""
        from pyspark.sql import functions as F

        if rule.norm not in {1, 2}:
            raise InvalidParameter("norm", rule.norm, "1 or 2")
        if rule.share not in {"held", "bound"}:
            raise InvalidParameter("share", rule.share, '"held" or "bound"')
        unit = 1 << whole("bits", rule.bits, most=_FINEST if rule.norm == 2 else 61)
        share = people_hold() if rule.share == "held" else F.lit(rule.bound.max_items).cast("bigint")
        kept = together([part.select("item", share.alias("share")) for part in self._bounded(rule.bound)])
        weighed = kept.select("item", _step(unit, rule.norm).alias("step"))
        frame = weighed.groupBy("item").agg(F.sum("step").alias("value"))
        return SparkWeights(name=self.name, frame=frame, unit=unit)

    def sums(self, rule: LengthWeights) -> SparkSums:
        """Sums of what everyone adds after bounding: one shuffle. Each worker has a copy of the weights by length."""
        from pyspark.sql import functions as F

        names = [f"sum{column}" for column in range(len(rule.columns))]
        kept = together([part.select("item", people_hold().alias("length")) for part in self._bounded(rule.bound)])
        weighed = kept.join(F.broadcast(_by_length(self.session, rule, names)), "length")
        frame = weighed.groupBy("item").agg(*(F.sum(name).alias(name) for name in names))
        return SparkSums(name=self.name, frame=frame)

    def counts(self, bound: Bound) -> SparkCounts:
        """How many people hold each item after bounding: one shuffle."""
        from pyspark.sql import functions as F

        kept = together([part.select("item") for part in self._bounded(bound)])
        return SparkCounts(name=self.name, frame=kept.groupBy("item").agg(F.count(F.lit(1)).alias("value")))

    def _bounded(self, bound: Bound) -> list[_Frame]:
        """The allowed pairs up to the bound, in parts; all pairs of a person are in one part.

        Who holds no more than the bound allows keeps all, whatever else is left out: no ranks, and nothing to sort.
        """
        from pyspark.sql import functions as F

        allowed = allowed_pairs(self.session, self.pairs, bound)
        if any(named is not None and len(named) > lists.FEW_ITEMS for named in (bound.only, bound.without)):
            # All pairs were moved to find the named items: of two parts each would have to be moved back.
            return [smallest_hashes(allowed, bound)]
        over = F.col("held") > F.lit(whole("max_items", bound.max_items, most=LARGEST)).cast("bigint")
        return [allowed.where(~over), smallest_hashes(allowed.where(over), bound)]

    def everyone(self, rule: UniformWeights) -> int:
        """What an item would weigh that everybody had: one sum over people."""
        from pyspark.sql import functions as F

        most = F.lit(rule.bound.max_items).cast("bigint")
        lengths = self.pairs.groupBy("person").agg(F.least(F.first("held"), most).alias("length"))
        people = lengths.select((F.col("length") if rule.share == "held" else most).alias("share"))
        steps = people.select(_step(1 << whole("bits", rule.bits, most=_FINEST), rule.norm).alias("step"))
        return int(attempt(self.name, lambda: steps.agg(F.sum("step")).collect())[0][0] or 0)

    def held(self, listed: Items) -> int:
        """How many pairs of a person and a listed item there are."""
        known = matched_pairs(self.session, self.pairs, listed.tolist(), keep=True)
        return int(attempt(self.name, known.count))

    def losses(self, ranked: Ranked, clips: Sequence[Clip], *, unit: int) -> Int64s:
        """What each clip takes away, in units of one person."""
        return clipped.losses(self.name, self._ranked(ranked), ranked, clips=clips, unit=unit)

    def clipped(self, ranked: Ranked, clip: Clip) -> Int64s:
        """For each of the first ranked items, the sum of what people add to it under a clip."""
        return clipped.clipped(self.name, self._ranked(ranked), ranked, clip=clip)

    def largest(self, top: int) -> Histogram:
        """People per item, nobody bounded: the `top` largest counts, ties by item."""
        from pyspark.sql import functions as F

        counts = self.pairs.groupBy("item").agg(F.count(F.lit(1)).alias("value"))
        return SparkCounts(name=self.name, frame=counts).largest(whole("top", top))

    def _ranked(self, ranked: Ranked) -> _Frame:
        return clipped.ranked_lists(self.session, self.pairs, ranked)

    def lists(self, bound: Bound, order: Literal["key", "frequency"]) -> UserLists:
        """Refused: people cannot be visited one after another here."""
        del bound, order
        refuse_sequential("policy")


def _by_length(session: Session, rule: LengthWeights, names: list[str]) -> _Frame:
    """What a person adds to each item, by how many they hold, as a DataFrame."""
    import pyarrow as pa

    columns = {name: pa.array(weights, pa.int64()) for name, weights in zip(names, rule.columns, strict=True)}
    lengths = pa.array(range(1, rule.bound.max_items + 1), pa.int64())
    return session.createDataFrame(pa.table({"length": lengths, **columns}))


def _step(unit: int, norm: Literal[1, 2]) -> Any:  # noqa: ANN401  a column
    """floor(unit / share^(1/norm)) of the column share, exactly: the root that Java finds is set right by squaring."""
    from pyspark.sql import functions as F

    if norm == 1:
        return F.expr(f"{unit}L div share")
    square = F.expr(f"{unit * unit}L div share")
    root = F.floor(F.sqrt(square.cast("double"))).cast("bigint")
    return F.when(root * root > square, root - 1).when((root + 1) * (root + 1) <= square, root + 1).otherwise(root)


if TYPE_CHECKING:
    _is_incidence: type[Incidence] = SparkIncidence
