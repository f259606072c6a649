"""Drop-in interfaces: parameters, callbacks and model views under the names of other libraries."""
