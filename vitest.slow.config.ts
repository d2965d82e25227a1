/** Tests that need only Node and take too long for `npm test`: `npm run test:slow`. */
import { defineConfig } from "vitest/config";

/** These exchange a module or count steps in it: no other file may have loaded it before. */
const alone = ["test/fuzz/growth.slow.test.ts", "test/surfaces/opencode/growth.slow.test.ts"];

const shared = { testTimeout: 60_000, hookTimeout: 60_000 };

export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      { test: { ...shared, name: "slow", include: ["test/**/*.slow.test.ts"], exclude: alone, isolate: false } },
      { test: { ...shared, name: "alone", include: alone } },
    ],
  },
});
