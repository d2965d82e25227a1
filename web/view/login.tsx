/** A page that is not logged in: one sentence, and the command that makes a link. */
import { CopyButton } from "./copy.tsx";

export function LoggedOut({ message }: { readonly message: string }) {
  return (
    <main class="main">
      <div class="empty">
        <h2>Franca runs</h2>
        <p>
          {message === "" ? "This page is not logged in." : message} Run this in a terminal and open the link that it
          prints:
        </p>
        <p class="row">
          <code class="command">franca open</code>
          <CopyButton text="franca open" what="command" />
        </p>
        <p class="dim">Or drop a recording on this page to look at it without logging in.</p>
      </div>
    </main>
  );
}
