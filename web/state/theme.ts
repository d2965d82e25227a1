/** Light, dark, or as the system has it. The choice is kept in this browser. */
import { signal } from "@preact/signals";

const KEY = "franca-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

export type Theme = "light" | "dark";

const chosen = signal<Theme | null>(stored());
export const theme = signal<Theme>(chosen.value ?? system());

function stored(): Theme | null {
  const value = read();
  return value === "light" || value === "dark" ? value : null;
}

/** A page that was opened from a file may have no storage. */
function read(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function system(): Theme {
  return dark.matches ? "dark" : "light";
}

function apply(): void {
  theme.value = chosen.value ?? system();
  document.documentElement.dataset.theme = theme.value;
}

export function toggleTheme(): void {
  chosen.value = theme.value === "dark" ? "light" : "dark";
  try {
    localStorage.setItem(KEY, chosen.value);
  } catch {
    // It lasts as long as the page then.
  }
  apply();
}

dark.addEventListener("change", apply);
apply();
