// Sends the requests of the documentation page and shows the responses. Runs in browsers.

// The page's own path may end with a slash; all paths are relative, for services behind a prefix.
const base = new URL(location.pathname.endsWith("/") ? "../" : "./", location.href);
for (const link of document.querySelectorAll("header a, .formats a")) {
  link.href = new URL(link.getAttribute("href"), base);
}
const token = document.getElementById("token");

function element(name, text, properties = {}) {
  return Object.assign(document.createElement(name), { textContent: text }, properties);
}

function addressOf(form) {
  const values = new Map(new FormData(form));
  const path = form.dataset.path.replace(/:(\w+)/g, (_, name) => {
    const value = values.get(name);
    values.delete(name);
    return encodeURIComponent(value);
  });
  const url = new URL("." + path, base);
  for (const [name, value] of values) if (value !== "") url.searchParams.append(name, value);
  return url;
}

async function contentOf(response) {
  if (response.headers.get("content-type")?.startsWith("image/svg+xml")) {
    const src = URL.createObjectURL(await response.blob());
    return { nodes: [element("img", "", { src, alt: "the badge" })] };
  }
  const text = await response.text();
  if (text === "") return { nodes: [] };
  try {
    const body = JSON.parse(text);
    return { nodes: [element("pre", JSON.stringify(body, null, 2), { tabIndex: 0 })], body };
  } catch {
    return { nodes: [element("pre", text, { tabIndex: 0 })] };
  }
}

async function send(form) {
  const url = addressOf(form);
  const authorization = "Bearer " + token.value.trim();
  const started = performance.now();
  const response = await fetch(url, {
    headers: "token" in form.dataset ? { authorization } : {},
    // Without the password that opened the page: the request is the one that the curl line sends.
    credentials: "omit",
    cache: "no-store",
  });
  const { nodes, body } = await contentOf(response);
  const milliseconds = Math.round(performance.now() - started);
  const status = response.status + " " + response.statusText;
  const shown = [
    element("p", status + ", " + milliseconds + " ms", { className: response.ok ? "good" : "bad" }),
    element("pre", 'curl -H "Authorization: Bearer $TOKEN" \'' + url + "'"),
    ...nodes,
  ];
  if (body?.metadata?.after) {
    const next = element("button", "Next page", { type: "button" });
    next.onclick = () => {
      form.elements.namedItem("after").value = body.metadata.after;
      form.requestSubmit();
    };
    shown.push(next);
  }
  return shown;
}

document.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  if (form === token.form) return;
  const result = form.nextElementSibling;
  const button = form.querySelector("button");
  if ("token" in form.dataset && token.value.trim() === "") {
    result.replaceChildren(element("p", "Enter an API token first", { className: "bad" }));
    result.hidden = false;
    token.focus();
    return;
  }
  button.disabled = true;
  try {
    result.replaceChildren(...await send(form));
  } catch (error) {
    const text = "No response from the service: " + error.message;
    result.replaceChildren(element("p", text, { className: "bad" }));
  }
  result.hidden = false;
  button.disabled = false;
});
