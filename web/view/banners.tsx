/** What is wrong with the page itself, above everything: no connection, a request that failed. */
import { timeOfDay } from "../model/words.ts";
import { problem } from "../state/actions.ts";
import { now } from "../state/clock.ts";
import { link, tryNow } from "../state/link.ts";
import { Icon, Status } from "./icons.tsx";

export function Banners() {
  const at = link.value;
  if (at.state === "lost") {
    const left = Math.max(0, Math.ceil((at.retryAt - now.value) / 1000));
    return (
      <div class="banner lost" role="status">
        <Status shape="retrying" named />
        <span class="grow num">
          Not connected since {timeOfDay(at.since)}. {left === 0 ? "Trying again." : `Trying again in ${left} s.`}
        </span>
        <button type="button" class="btn" onClick={tryNow}>
          Try now
        </button>
      </div>
    );
  }
  if (problem.value === null) return null;
  return (
    <div class="banner problem" role="alert">
      <Status shape="failed" named />
      <span class="grow">{problem.value}</span>
      <button
        type="button"
        class="btn icon"
        aria-label="Close"
        onClick={() => {
          problem.value = null;
        }}
      >
        <Icon sign="close" />
      </button>
    </div>
  );
}
