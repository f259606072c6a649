"""Base package of the harness: data model, errors, units, ids, facts about the machine."""
