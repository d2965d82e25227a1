import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/acp/**/*.test.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
    // A turn of a real agent takes seconds, most of it waiting: the tests of a file run side by side.
    maxConcurrency: 3,
  },
});
