"""The reference libraries as plugins: one file per library, each imported only when used."""
