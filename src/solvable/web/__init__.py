"""The explorer: a web page with stories and with sliders for the problem's parameters; the learning curve follows. The library
computes everything.
"""
