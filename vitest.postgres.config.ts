/** Tests of the log on Postgres: `npm run test:postgres`, which starts the server. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/postgres/**/*.test.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // One file after the other: tests crash the server that they share.
    fileParallelism: false,
    isolate: false,
  },
});
