"""The explicit list of all studies, in the order of the documentation: one line for each."""

from __future__ import annotations

from studies.default_chooser import DEFAULT_CHOOSER
from studies.default_count import DEFAULT_COUNT
from studies.default_count_shares import DEFAULT_COUNT_SHARES
from studies.default_presets import DEFAULT_PRESETS
from studies.default_top import DEFAULT_TOP
from studies.default_vocab import DEFAULT_VOCAB
from studies.engagements_attacks import ENGAGEMENTS_ATTACKS
from studies.engagements_budget import ENGAGEMENTS_BUDGET
from studies.engagements_figure_3 import ENGAGEMENTS_FIGURE_3
from studies.engagements_figure_4 import ENGAGEMENTS_FIGURE_4
from studies.engagements_figure_5 import ENGAGEMENTS_FIGURE_5
from studies.partition_figure_1 import PARTITION_FIGURE_1
from studies.partition_figure_4 import PARTITION_FIGURE_4
from studies.partition_midpoints import PARTITION_MIDPOINTS
from studies.partition_public import PARTITION_PUBLIC
from studies.pcr_figures import PCR_FIGURES
from studies.pcr_parameters import PCR_PARAMETERS
from studies.peers import PEERS
from studies.sips_budgets import SIPS_BUDGETS
from studies.sips_parameters import SIPS_PARAMETERS
from studies.sips_scaling import SIPS_SCALING
from studies.sips_table_2 import SIPS_TABLE_2
from studies.study import Study
from studies.union_algorithm_8 import UNION_ALGORITHM_8
from studies.union_ngrams import UNION_NGRAMS
from studies.union_policies import UNION_POLICIES
from studies.union_table_2 import UNION_TABLE_2
from studies.union_table_3 import UNION_TABLE_3

STUDIES: tuple[Study, ...] = (
    PCR_FIGURES,
    PCR_PARAMETERS,
    ENGAGEMENTS_FIGURE_3,
    ENGAGEMENTS_FIGURE_4,
    ENGAGEMENTS_FIGURE_5,
    ENGAGEMENTS_ATTACKS,
    ENGAGEMENTS_BUDGET,
    PARTITION_FIGURE_1,
    PARTITION_MIDPOINTS,
    PARTITION_FIGURE_4,
    PARTITION_PUBLIC,
    UNION_TABLE_2,
    UNION_TABLE_3,
    UNION_NGRAMS,
    UNION_POLICIES,
    UNION_ALGORITHM_8,
    SIPS_TABLE_2,
    SIPS_PARAMETERS,
    SIPS_BUDGETS,
    SIPS_SCALING,
    PEERS,
    DEFAULT_COUNT,
    DEFAULT_COUNT_SHARES,
    DEFAULT_VOCAB,
    DEFAULT_TOP,
    DEFAULT_CHOOSER,
    DEFAULT_PRESETS,
)


def chosen(names: list[str]) -> list[Study]:
    """The studies of these names, all if none is given."""
    known = {study.name: study for study in STUDIES}
    missing = [name for name in names if name not in known]
    if missing:
        raise SystemExit(f"no study is called {', '.join(missing)}; there are: {', '.join(known)}")
    return [known[name] for name in names] or list(STUDIES)
