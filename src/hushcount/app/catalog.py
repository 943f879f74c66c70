"""The catalog as people look after it: all data sets with what was spent on them, and facts as they are said."""

from __future__ import annotations

from hushcount.app.setting import Setting
from hushcount.ledger.catalog import Dataset
from hushcount.ledger.ledger import Account, Balance
from hushcount.model.frozen import frozen


@frozen
class DatasetLine:
    """One data set of the report, with the account that its population shares."""

    dataset: Dataset
    balance: Balance


def report(setting: Setting) -> tuple[DatasetLine, ...]:
    """Every data set that whoever asks may see, with its account, by name. Reads no data."""
    ledger = setting.ledger
    if ledger is None:
        return ()
    found = sorted(ledger.catalog.datasets(by=setting.analyst), key=lambda dataset: dataset.name)
    accounts = {
        population: ledger.balance(Account(kind="dataset", name="", entity=population))
        for population in {dataset.population for dataset in found}
    }
    return tuple(DatasetLine(dataset=dataset, balance=accounts[dataset.population]) for dataset in found)
