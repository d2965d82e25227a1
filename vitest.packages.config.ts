/** The packages as users install them. scripts/test-packages.js packs them and says where they are. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/packages/**/*.test.ts"],
    testTimeout: 120_000,
    hookTimeout: 180_000,
    maxWorkers: 2,
  },
});
