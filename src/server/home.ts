/**
 * The page at `/`: says that the daemon runs, logs in with the one-time code of its address, and lists the sessions.
 * Its files are static: whatever they show, they ask for with the page's own credential.
 */
import type { Surface } from "./http/server.ts";

const SCRIPT_PATH = "/assets/home.js";
const STYLE_PATH = "/assets/home.css";

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Franca</title>
<link rel="stylesheet" href="${STYLE_PATH.slice(1)}">
<script type="module" src="${SCRIPT_PATH.slice(1)}"></script>
</head>
<body>
<main>
<h1>Franca</h1>
<p id="state" role="status">Connecting…</p>
<table id="sessions" hidden>
<thead><tr><th>Session</th><th>Agent</th><th>Status</th><th>Folder</th><th>Updated</th></tr></thead>
<tbody></tbody>
</table>
</main>
</body>
</html>
`;

const STYLE = `:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { margin: 0; }
main { max-width: 60rem; margin: 0 auto; padding: 2rem 1rem; }
h1 { font-size: 1.25rem; margin: 0 0 0.5rem; }
code { font-family: ui-monospace, monospace; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: 0.35rem 0.75rem 0.35rem 0; border-bottom: 1px solid color-mix(in srgb, currentColor 15%, transparent); }
th, td { text-align: left; overflow-wrap: anywhere; }
`;

const SCRIPT = `const KEY = "franca-credential";
const state = document.getElementById("state");
const table = document.getElementById("sessions");

async function login(code) {
  history.replaceState(null, "", location.pathname);
  const response = await fetch("v1/login", { method: "POST", body: JSON.stringify({ code }) });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.detail);
  sessionStorage.setItem(KEY, answer.credential);
}

async function show() {
  const credential = sessionStorage.getItem(KEY);
  const headers = credential === null ? {} : { authorization: "Bearer " + credential };
  const response = await fetch("v1/sessions", { headers });
  if (response.status === 401) {
    state.textContent = "Franca is running. To see your sessions here, open the link that \\"franca open\\" prints.";
    return;
  }
  const { sessions } = await response.json();
  state.textContent = sessions.length === 0 ? "Franca is running. There are no sessions yet." : "Franca is running.";
  table.hidden = sessions.length === 0;
  table.tBodies[0].replaceChildren(...sessions.map(row));
}

function row({ title, sessionId, agent, status, directory, updatedAt }) {
  const line = document.createElement("tr");
  for (const text of [title ?? sessionId, agent, status, directory, new Date(updatedAt).toLocaleString()]) {
    line.insertCell().textContent = text;
  }
  return line;
}

try {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code !== null) await login(code);
  await show();
} catch (error) {
  state.textContent = error.message;
}
`;

const files: Readonly<Record<string, { readonly type: string; readonly body: string }>> = {
  "/": { type: "text/html; charset=utf-8", body: PAGE },
  [STYLE_PATH]: { type: "text/css; charset=utf-8", body: STYLE },
  [SCRIPT_PATH]: { type: "text/javascript; charset=utf-8", body: SCRIPT },
};

const headers = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cache-control": "no-cache",
};

export const homeSurface: Surface = {
  name: "home",
  isStatic: (path) => Object.hasOwn(files, path),
  mount(app) {
    for (const [path, { type, body }] of Object.entries(files)) {
      app.get(path, () => new Response(body, { headers: { ...headers, "content-type": type } }));
    }
  },
};
