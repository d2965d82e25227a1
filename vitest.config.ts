import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: [
      "test/**/*.slow.test.ts",
      "test/agents/**",
      "test/security/slow/**",
      "test/packages/**",
      "test/web/**",
      "test/acp/**",
      "test/postgres/**",
      "node_modules/**",
    ],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    maxWorkers: 2,
    // Files share what they import: loading it again for each took a third of the time.
    isolate: false,
  },
});
