/** The page: the sessions, the view that the address names, and what lies over them. */
import { useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { lazy, Suspense } from "preact/compat";
import { rawConversation } from "../model/raw-text.ts";
import { assertive, polite } from "../state/announce.ts";
import { link } from "../state/link.ts";
import { isDropping, recording } from "../state/recording.ts";
import { type Route, route } from "../state/route.ts";
import { closeSession, current, openSession } from "../state/session.ts";
import { type SessionStore, shownConversation } from "../state/store.ts";
import { isNarrow } from "../state/width.ts";
import { Banners } from "./banners.tsx";
import { ConversationView } from "./conversation.tsx";
import { ErrorBoundary } from "./error-boundary.tsx";
import { Home } from "./home.tsx";
import { LoggedOut } from "./login.tsx";
import { Overlays } from "./overlays.tsx";
import { SessionHead } from "./session-head.tsx";
import { Rail, SessionList } from "./session-list.tsx";

const LanesView = lazy(() => import("./lanes.tsx").then(({ LanesView }) => ({ default: LanesView })));
const TimelineView = lazy(() => import("./timeline.tsx").then(({ TimelineView }) => ({ default: TimelineView })));
const NewSession = lazy(() => import("./new-session.tsx").then(({ NewSession }) => ({ default: NewSession })));
const Health = lazy(() => import("./health.tsx").then(({ Health }) => ({ default: Health })));
const Compare = lazy(() => import("./compare.tsx").then(({ Compare }) => ({ default: Compare })));
const Usage = lazy(() => import("./usage.tsx").then(({ Usage }) => ({ default: Usage })));

export function App() {
  const here = route.value;
  useSignalEffect(() => {
    const at = route.value;
    // Only while there is a daemon to ask.
    if (link.value.state === "none" || link.value.state === "logged-out") return;
    if (at.page === "session") openSession(at.id);
    else closeSession();
  });
  const isWide =
    here.page === "compare" || ((here.page === "session" || here.page === "recording") && here.view !== "conversation");
  const isAlone = link.value.state === "none" || link.value.state === "logged-out";
  /** On a phone the first screen is the list. */
  const isList = !isAlone && isNarrow.value && here.page === "home";
  const layout = isAlone
    ? "app bare in-session"
    : isWide
      ? "app wide in-session"
      : here.page === "home"
        ? "app"
        : "app in-session";
  return (
    <div class={layout}>
      <Banners />
      {!isAlone && (
        <ErrorBoundary key={`list ${isWide}`} name="list of sessions">
          {isWide ? <Rail /> : <SessionList alone={isList} />}
        </ErrorBoundary>
      )}
      {!isList && (
        <ErrorBoundary key={"id" in here ? here.id : here.page} name="view" main>
          <Suspense fallback={<main class="main" />}>{page(here)}</Suspense>
        </ErrorBoundary>
      )}
      <ErrorBoundary name="menu">
        <Overlays />
      </ErrorBoundary>
      {isDropping.value && <div class="dropping">Drop the recording to look at it here</div>}
      <div class="hidden" role="status" aria-live="polite">
        {polite.value}
      </div>
      <div class="hidden" role="alert" aria-live="assertive">
        {assertive.value}
      </div>
    </div>
  );
}

function page(here: Route): JSX.Element {
  const at = link.value;
  if (here.page === "recording") {
    const store = recording.value;
    return store === null ? <NoRecording /> : <Opened store={store} view={here.view} />;
  }
  if (at.state === "logged-out") return <LoggedOut message={at.message} />;
  if (at.state === "none") return <NoRecording />;
  switch (here.page) {
    case "home":
      return <Home />;
    case "new":
      return <NewSession />;
    case "health":
      return <Health />;
    case "usage":
      return <Usage />;
    case "compare":
      return <Compare key={here.id} id={here.id} />;
    case "session": {
      const store = current.value;
      return store === null ? <Loading words="Connecting…" /> : <Opened store={store} view={here.view} />;
    }
  }
}

function Opened({
  store,
  view,
}: {
  readonly store: SessionStore;
  readonly view: "conversation" | "lanes" | "timeline";
}) {
  store.rev.value;
  const progress = store.progress.value;
  if (progress.state === "loading") return <Loading words={progress.words} />;
  if (progress.state === "missing") return <Missing message={progress.message} />;
  const conversation = shownConversation(store);
  return (
    <div class="main">
      <ErrorBoundary name="head of the session">
        <SessionHead store={store} conversation={conversation} />
      </ErrorBoundary>
      <ErrorBoundary key={view} name="view" raw={() => rawConversation(conversation.entries)} main>
        {view === "conversation" && <ConversationView store={store} />}
        {view === "lanes" && <LanesView store={store} />}
        {view === "timeline" && <TimelineView store={store} />}
      </ErrorBoundary>
    </div>
  );
}

const Loading = ({ words }: { readonly words: string }) => (
  <main class="main">
    <div class="empty dim">{words}</div>
  </main>
);

const Missing = ({ message }: { readonly message: string }) => (
  <main class="main">
    <div class="empty">
      <h2>There is no such session</h2>
      <p>{message}</p>
      <a class="btn" href="#/">
        All sessions
      </a>
    </div>
  </main>
);

const NoRecording = () => (
  <main class="main">
    <div class="empty">
      <h2>No recording is open</h2>
      <p>Drop a transcript of an agent on this page. It is read here and sent nowhere.</p>
    </div>
  </main>
);
