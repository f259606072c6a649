"""What every other package uses: the data model, errors, units, ids, facts about the machine."""
