/** The inspector in a real browser on the real daemon. scripts/test-web.js prepares it. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/web/**/*.test.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    maxWorkers: 1,
    fileParallelism: false,
  },
});
