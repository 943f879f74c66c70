"""The console: the service's pages for people with a browser. Every page is what the HTTP interface says, as HTML.

How a page is added, say `people`:

1. `people.py`, with a function that reads what it shows through the same functions as the route of `api` and returns a
   `View`: a template, a title, and a *form*, which is all that the template sees. `@page(router, "/people")` makes
   `/console/people` of it and its twin `/console/people.json`, which is the form itself; so no number can be on a page
   that the twin does not have. What changes something is a function under `@deed(router, "/people/role")`, which
   answers POST and ends in `see_other(...)`, so that it works with scripts off and can be reloaded.
2. `templates/people.html`, which extends `frame.html` and fills the block `main`. No `style=` and no `onclick=`: the
   content security policy refuses both. Items and names go through the filter `item`; numbers through `number` or
   `amount`; times through `day` or `moment`.
3. One line in `pages.py`, and one in `frame.py` if it belongs into the navigation.
4. A test in `tests/console`: the twin beside the route of the interface, the page in a browser with scripts on and off,
   its picture in `tests/console/test_pictures.py`.

`static/console.js` knows three attributes: `data-live="#a, #b"` on a form asks the page anew as the form changes, and
puts the named parts of it in place; `data-poll="#a"` does so every second; `data-copy="#a"` copies a text. A page must
do without all of them.
"""
