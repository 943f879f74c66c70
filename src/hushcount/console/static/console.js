// What pages do beyond links and forms. Each does without: see the package's docstring.
"use strict";

document.documentElement.classList.add("scripted");

const parts = (names) => names.split(",").map((name) => name.trim());

// Ask for a page and put the named parts of it in place of ours. The focus stays where it is.
async function swap(address, names, signal) {
  const reply = await fetch(address, { signal, credentials: "same-origin", headers: { Accept: "text/html" } });
  if (reply.redirected && new URL(reply.url).pathname !== new URL(address, location).pathname) {
    location.assign(reply.url);
    return;
  }
  const page = new DOMParser().parseFromString(await reply.text(), "text/html");
  for (const name of parts(names)) {
    const [ours, theirs] = [document.querySelector(name), page.querySelector(name)];
    if (ours && theirs && !ours.contains(document.activeElement)) ours.replaceWith(theirs);
    else if (ours && theirs) ours.innerHTML !== theirs.innerHTML && patch(ours, theirs);
  }
}

// A part that holds the focus is changed around it.
function patch(ours, theirs) {
  const active = document.activeElement;
  for (const child of [...theirs.children]) {
    const own = child.id && ours.querySelector("#" + CSS.escape(child.id));
    if (own && !own.contains(active)) own.replaceWith(child);
  }
}

function live(form) {
  let waiting, running;
  const ask = () => {
    running?.abort();
    running = new AbortController();
    const said = new URLSearchParams(new FormData(form));
    const address = form.action.split("?")[0] + "?" + said;
    form.setAttribute("aria-busy", "true");
    swap(address, form.dataset.live, running.signal)
      .then(() => { history.replaceState(null, "", address); form.removeAttribute("aria-busy"); })
      .catch(() => {});
  };
  form.addEventListener("input", (event) => {
    if (event.target.form !== form) return;
    clearTimeout(waiting);
    waiting = setTimeout(ask, event.target.type === "text" ? 500 : 120);
  });
}

function poll() {
  const part = document.querySelector("[data-poll]");
  if (!part) return;
  setTimeout(() => swap(location.href, part.dataset.poll).catch(() => {}).finally(poll), 1000);
}

document.querySelectorAll("form[data-live]").forEach(live);
poll();

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(document.querySelector(button.dataset.copy).textContent.trim());
  button.textContent = "Copied";
});

// The secret of an invitation is behind the '#', which browsers do not send: it is put into the form here.
const invited = document.querySelector("[data-fragment]");
if (invited && location.hash.length > 1) {
  invited.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
}
