/** The head of a page that is not a session. */
import { linkTo } from "../state/route.ts";
import { Icon } from "./icons.tsx";

export function PageHead({ title, note }: { readonly title: string; readonly note: string }) {
  return (
    <header class="head">
      <a class="btn ghost icon phone-only" href={linkTo({ page: "home" })} aria-label="All sessions">
        <Icon sign="left" />
      </a>
      <h1>{title}</h1>
      <span class="dim cut wide-only">{note}</span>
    </header>
  );
}
