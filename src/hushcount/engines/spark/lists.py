"""Lists on Spark: which pairs of a person and an item are allowed, and which stay under a bound."""

from __future__ import annotations

from typing import Any, TypeAlias

from hushcount.engines.hashing import Role, role_keys
from hushcount.engines.spark.session import Session
from hushcount.model.amounts import whole
from hushcount.model.inputs import LARGEST, Bound, Items

_Frame: TypeAlias = Any  # pyspark.sql.DataFrame; pyspark is imported only where it is used
# So many named items are sent to every worker; more are brought together with their pairs by a shuffle.
FEW_ITEMS = 1_000_000


def smallest_hashes(allowed: _Frame, bound: Bound) -> _Frame:
    """Each person's pairs with the `max_items` smallest hashes, as `engines.hashing` has them, ties by text."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    whole("max_items", bound.max_items, most=LARGEST)
    mixed = F.xxhash64(_hashed("person", bound.salt, b"person"), _hashed("item", bound.salt, b"item"))
    ranks = F.row_number().over(Window.partitionBy("person").orderBy("mixed", "item"))
    hashed = allowed.withColumn("mixed", mixed).withColumn("rank", ranks)
    return hashed.where(F.col("rank") <= bound.max_items).drop("mixed", "rank")


def _hashed(column: str, salt: bytes, role: Role) -> Any:  # noqa: ANN401  a column
    from pyspark.sql import functions as F

    return F.xxhash64(*(F.lit(key).cast("bigint") for key in role_keys(salt, role)), F.col(column))


def allowed_pairs(session: Session, pairs: _Frame, bound: Bound) -> _Frame:
    """The pairs without the items that are left out before the bound."""
    if bound.only is not None:
        excluded = set() if bound.without is None else set(bound.without.tolist())
        return matched_pairs(session, pairs, [item for item in bound.only.tolist() if item not in excluded], keep=True)
    if bound.without is not None and len(bound.without):
        return matched_pairs(session, pairs, bound.without.tolist(), keep=False)
    return pairs


def matched_pairs(session: Session, pairs: _Frame, items: list[str], *, keep: bool) -> _Frame:
    """The pairs whose item is listed (or is not): by a copy of a short list on every worker, or by one shuffle."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    listed = listed_items(session, items)
    if len(items) <= FEW_ITEMS:
        return pairs.join(F.broadcast(listed), "item", "left_semi" if keep else "left_anti")
    # Pairs and list in one frame, so that one shuffle brings both together; the mark stands before the pairs.
    marks = listed.withColumn("mark", F.lit(1))
    both = pairs.withColumn("mark", F.lit(0)).unionByName(marks, allowMissingColumns=True)
    before = Window.partitionBy("item").orderBy(F.col("mark").desc()).rowsBetween(Window.unboundedPreceding, 0)
    found = both.withColumn("listed", F.max("mark").over(before))
    return found.where((F.col("mark") == 0) & (F.col("listed") == int(keep))).drop("mark", "listed")


def listed_items(session: Session, items: Items | list[str]) -> _Frame:
    """A public or released list as a DataFrame of distinct items. What is no Unicode text is in no Spark table."""
    import pyarrow as pa

    texts = [text for text in dict.fromkeys(items) if text.isascii() or _encodes(text)]
    return session.createDataFrame(pa.table({"item": pa.array(texts, pa.string())}))


def _encodes(text: str) -> bool:
    return not any("\ud800" <= sign <= "\udfff" for sign in text)
