/** All security tests, with the slow ones: real agents and a real browser. scripts/test-security.js prepares them. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/security/**/*.test.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    maxWorkers: 1,
    fileParallelism: false,
  },
});
