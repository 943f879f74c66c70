"""Questions and answers: prices, rehearsals, releases, arithmetic on rows."""
