/** Where in the page one is: the fragment of its address, so that every screen has a link and nothing is sent. */
import { computed, signal } from "@preact/signals";

export const sessionViews = ["conversation", "lanes", "timeline"] as const;
export type SessionView = (typeof sessionViews)[number];

export type Route =
  | { readonly page: "home" | "new" | "health" | "usage" }
  | { readonly page: "compare"; readonly id: string }
  | { readonly page: "session"; readonly id: string; readonly view: SessionView }
  | { readonly page: "recording"; readonly view: SessionView };

const hash = signal(location.hash);
addEventListener("hashchange", () => {
  hash.value = location.hash;
});

export const route = computed(() => parseRoute(hash.value));

export function parseRoute(fragment: string): Route {
  const [first = "", second = "", third = ""] = fragment.replace(/^#\/?/, "").split("/");
  if (first === "new" || first === "health" || first === "usage") return { page: first };
  if (first === "recording") return { page: "recording", view: viewOf(second) };
  if (first === "compare" && second !== "") return { page: "compare", id: decoded(second) };
  if (first === "s" && second !== "") return { page: "session", id: decoded(second), view: viewOf(third) };
  return { page: "home" };
}

/** Invalid percent-escapes are kept unchanged. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const viewOf = (name: string): SessionView => sessionViews.find((view) => view === name) ?? "conversation";

export function linkTo(target: Route): string {
  switch (target.page) {
    case "home":
      return "#/";
    case "session": {
      const base = `#/s/${encodeURIComponent(target.id)}`;
      return target.view === "conversation" ? base : `${base}/${target.view}`;
    }
    case "compare":
      return `#/compare/${encodeURIComponent(target.id)}`;
    case "recording":
      return `#/recording/${target.view}`;
    default:
      return `#/${target.page}`;
  }
}

export function go(target: Route): void {
  location.hash = linkTo(target);
}

/** The same session or recording in another view. */
export function goView(view: SessionView): void {
  const here = route.value;
  if (here.page === "session" || here.page === "recording") go({ ...here, view });
}

/** Replaces the address without a step in the history: a login code must not be found there. */
export function replaceFragment(fragment: string): void {
  history.replaceState(null, "", `${location.pathname}${location.search}${fragment}`);
  hash.value = fragment;
}
