"""Drop-in interfaces of other libraries: parameters, callbacks, initial models, model views."""
