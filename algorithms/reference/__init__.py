"""The reference libraries as plugins, one file a library, each imported only when used."""
