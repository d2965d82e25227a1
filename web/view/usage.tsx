/** What all sessions used: by agent and by day. */

import { PageHead } from "./page-head.tsx";
import { UsageCharts } from "./usage-charts.tsx";

export function Usage() {
  return (
    <main class="main" aria-label="Usage">
      <PageHead title="Usage" note="all sessions that are stored, days in this browser's time" />
      <div class="charts">
        <UsageCharts days={30} />
      </div>
    </main>
  );
}
