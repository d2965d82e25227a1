/**
 * Small modules that nearly every file of the build imports. Each is wanted by another set of commands and would be a
 * file by itself, which takes longer to open than to run: imported by all, they are one file.
 */
import "../src/cli/usage.ts";
import "../src/core/acp-command.ts";
import "../src/core/base-url.ts";
import "../src/core/budget-words.ts";
import "../src/core/default-agent.ts";
import "../src/core/defined.ts";
import "../src/core/diff.ts";
import "../src/core/fold.ts";
import "../src/core/look-up.ts";
import "../src/core/projection.ts";
import "../src/core/shell-words.ts";
import "../src/dialects/shape.ts";
import "../src/protocol/errors.ts";
import "../src/protocol/permission-modes.ts";
import "../src/runtime/package-folder.ts";
import "../src/runtime/storage-error.ts";
import "../src/server/version.ts";
