"""Colors of all charts, and the maximum length of names in charts."""

# The colors of Okabe and Ito, which color-blind readers can distinguish, and four grays. A
# chart that uses another color keeps it in both themes.
PALETTE = {
    "paper": "#ffffff",
    "ink": "#333333",
    "muted": "#6b6b6b",
    "line": "#dddddd",
    "band": "#eeeeee",
    "blue": "#0072b2",
    "orange": "#d55e00",
    "green": "#009e73",
    "purple": "#cc79a7",
    "amber": "#e69f00",
    "sky": "#56b4e9",
}
LABEL = 46  # characters of a name in a chart
