/**
 * What programs do with their arguments, as far as permission rules depend on it: programs that run other commands,
 * programs that run a text, and which arguments are read or written. Pure.
 */
import type { PathAccess } from "./inspection.ts";
import type { Word } from "./shell-reader.ts";

/** Receives what a program runs besides itself. */
export interface Findings {
  readonly markUnclear: (reason: string) => void;
  /** The program runs these words as a command. */
  readonly runWords: (words: readonly Word[]) => void;
  /** The program runs this text as a shell script. */
  readonly runScript: (script: string) => void;
  /** The program expands substitutions in this text. */
  readonly expandText: (text: string) => void;
}

/** What a program makes of its command besides the commands that it runs. */
export interface ProgramFacts {
  /** Other spellings for rules that deny or ask. */
  readonly spellings: readonly string[];
  readonly runsText: boolean;
}

const nothing: ProgramFacts = { spellings: [], runsText: false };

type Inspect = (args: readonly Word[], findings: Findings) => ProgramFacts;

/** Inspects the arguments of a program by its name without folder. */
export const inspectProgram = (name: string, args: readonly Word[], findings: Findings): ProgramFacts =>
  (programs.get(name) ?? programs.get(name.replace(/-?\d[\d.]*$/, "")))?.(args, findings) ?? nothing;

const programs = new Map<string, Inspect>();
const define = (names: string, inspect: Inspect): void => {
  for (const name of names.split(" ")) programs.set(name.toLowerCase(), inspect);
};

const joined = (words: readonly Word[]): string => words.map(({ text }) => text).join(" ");

/** Maximum number and length of the spellings made of the words behind a wrapper. */
const MAX_SPELLINGS = 40;
const MAX_SPELLING_LENGTH = 2_000;

/** Every end of the arguments: one of them is the command, but where it begins depends on options. */
const endsOf = (args: readonly Word[]): string[] =>
  args.slice(0, MAX_SPELLINGS).flatMap(({ text }, index) => {
    const end = joined(args.slice(index, index + 200)).slice(0, MAX_SPELLING_LENGTH);
    return text.includes("=") ? [end, end.slice(text.lastIndexOf("=") + 1)] : [end];
  });

// Shell builtins that change how later commands work.
define(
  "export declare typeset local readonly set shopt enable hash bind complete compgen compopt let read readarray " +
    "mapfile unset getopts fc history pushd popd dirs unalias autoload zmodload emulate setopt unsetopt vared zle " +
    "sched functions abbr source . jobs wait return logout suspend fish csh tcsh",
  (args, { markUnclear, expandText }) => {
    markUnclear("it changes the shell or runs a file in it");
    for (const { text } of args) expandText(text);
    return { spellings: endsOf(args), runsText: false };
  },
);

define("trap", (args, { markUnclear, runScript }) => {
  markUnclear("it sets a trap");
  runScript(joined(args.slice(0, 1)));
  return nothing;
});

define("alias", (args, { markUnclear, runScript }) => {
  markUnclear("it defines an alias");
  for (const { text } of args) runScript(text.slice(text.indexOf("=") + 1));
  return nothing;
});

define("eval", (args, { runScript }) => {
  runScript(joined(args));
  return nothing;
});

const shells = "sh bash zsh dash ksh ash rbash mksh yash";

export const isShell = (name: string): boolean => shells.split(" ").includes(name);

define(shells, (args, { markUnclear, runScript }) => {
  const operand = args.findIndex(({ text }) => !/^[-+]/.test(text));
  const options = args.slice(0, operand < 0 ? args.length : operand).map(({ text }) => text);
  const script = args[operand];
  if (!options.every((text) => /^(-[lceux]+|--)$/.test(text))) markUnclear("it starts a shell with unusual options");
  if (script === undefined) markUnclear("it starts a shell that reads its commands from its input");
  else if (options.some((text) => /^-\w*c/.test(text))) runScript(script.text);
  return { spellings: endsOf(args), runsText: false };
});

interface WrapperSpec {
  /** Options that are understood and have no value, or their value in the same word. */
  readonly flags?: RegExp;
  /** Options with a value in the next word. */
  readonly values?: RegExp;
  /** Number of words between the options and the command. */
  readonly operands?: number;
  /** Why the command is never clear, if so. */
  readonly unclear?: string;
}

/** Defines programs that run the command in their arguments. */
function defineWrapper(names: string, { flags, values, operands = 0, unclear }: WrapperSpec): void {
  define(names, (args, { markUnclear, runWords }) => {
    if (unclear !== undefined) markUnclear(unclear);
    let at = 0;
    for (let text = args[at]?.text; text?.startsWith("-"); text = args[at]?.text) {
      at += values?.test(text) ? 2 : 1;
      if (text === "--") break;
      if (!values?.test(text) && !flags?.test(text)) markUnclear("it has an unknown option before the command it runs");
    }
    runWords(args.slice(at + operands));
    return { spellings: endsOf(args), runsText: false };
  });
}

defineWrapper("- nohup setsid builtin noglob nocorrect busybox toybox doas sudo", {});
defineWrapper("time", { flags: /^-p$/ });
defineWrapper("chrt taskset", { operands: 1 });
defineWrapper("nice ionice", { flags: /^-\d+$/, values: /^-n$/ });
defineWrapper("stdbuf", { flags: /^-[ioe][L0]$/ });
defineWrapper("timeout gtimeout", {
  flags: /^(--signal=|--kill-after=|--preserve-status$|--foreground$|-[ks].)/,
  values: /^(-k|-s)$/,
  operands: 1,
});
defineWrapper("exec", { values: /^-a$/, unclear: "it replaces the shell" });
defineWrapper("repeat", { operands: 1, unclear: "it repeats a command" });
defineWrapper("xargs", {
  flags: /^-[0rtx]+$/,
  values: /^-[InPLsdEa]$/,
  unclear: "it passes its input to a command as arguments",
});

define("command", (args, { markUnclear, runWords }) => {
  if (args[0]?.text === "-v" || args[0]?.text === "-V") return nothing;
  if (args[0]?.text.startsWith("-")) markUnclear("an option of command is not known");
  runWords(args.slice(args.findIndex(({ text }) => !text.startsWith("-"))));
  return { spellings: endsOf(args), runsText: false };
});

define("env", (args, { markUnclear, runWords }) => {
  const isSetting = ({ text }: Word): boolean => /^[A-Za-z_]\w*=/.test(text);
  const at = args.findIndex((word) => !word.text.startsWith("-") && !isSetting(word));
  const before = at < 0 ? args : args.slice(0, at);
  if (!before.every(isHarmlessAssignment)) markUnclear("it sets a variable or has an option of env");
  if (at >= 0) runWords(args.slice(at));
  return { spellings: before.length === 0 ? [] : endsOf(args), runsText: false };
});

/** Variables that only change the output or the time zone of common programs. */
export const isHarmlessAssignment = ({ text, literal }: Word): boolean =>
  literal && /^(CI|NODE_ENV|NO_COLOR|FORCE_COLOR|TZ|LANG|LC_ALL)=[\w.-]*$/.test(text);

define("find gfind", (args, { markUnclear, runWords }) => {
  const texts = args.map(({ text }) => text);
  texts.forEach((text, index) => {
    if (!/^-(exec|execdir|ok|okdir)$/.test(text)) return;
    const end = texts.findIndex((one, at) => at > index && (one === ";" || one === "+"));
    markUnclear("find passes the files it finds to a command");
    runWords(args.slice(index + 1, end < 0 ? undefined : end));
  });
  return nothing;
});

// A link counts from its own folder, not from that of the command: later paths could lead out through it.
define("ln gln", (args, { markUnclear }) => {
  const texts = args.map(({ text }) => text);
  const isSymbolic = texts.some((text) => /^(-\w*s|--s)/.test(text));
  if (isSymbolic && texts.some((text) => text.split("/").includes("..")))
    markUnclear("it makes a link to a folder above");
  return nothing;
});

define("git", (args, { markUnclear, runWords, runScript }) => {
  let at = 0;
  for (let text = args[at]?.text; text?.startsWith("-"); text = args[at]?.text) {
    if (/^(-c|--config-env|--exec-path=)/.test(text)) markUnclear("it sets an option of git that can run commands");
    if (text === "-c") runScript(args[at + 1]?.text.replace(/^[^=]*=!?/, "") ?? "");
    at += /^(-c|-C|--git-dir|--work-tree|--namespace|--config-env|--super-prefix)$/.test(text) ? 2 : 1;
  }
  const rest = args.slice(at);
  const [subcommand = "", action = ""] = rest.map(({ text }) => text);
  const runsCommand =
    `${subcommand} ${action}` === "bisect run" ||
    `${subcommand} ${action}` === "submodule foreach" ||
    (subcommand === "submodule" && rest.some(({ text }) => text === "foreach"));
  if (runsCommand) {
    runWords(rest.slice(2));
    runScript(joined(rest.slice(2).filter(({ text }) => !text.startsWith("-"))));
  }
  const options = rest.filter(({ text }) => gitRunOption.test(text));
  for (const word of options) {
    const value = word.text.includes("=")
      ? word.text.slice(word.text.indexOf("=") + 1)
      : rest[rest.indexOf(word) + 1]?.text;
    runScript(value ?? "");
    if (value?.includes("=")) runScript(value.slice(value.lastIndexOf("=") + 1));
  }
  const changesSettings = subcommand === "config" && !/^(--get|--list$|-l$|get$|list$)/.test(action);
  if (changesSettings) runScript(rest.at(-1)?.text.replace(/^!/, "") ?? "");
  if (
    changesSettings ||
    runsCommand ||
    options.length > 0 ||
    subcommand === "filter-branch" ||
    rest.some(({ text }) => /\bext::/.test(text))
  )
    markUnclear("git runs a command of its arguments");
  return { spellings: at === 0 ? [] : [`git ${joined(rest)}`], runsText: false };
});

/** Options of git's subcommands whose value is a command, or a setting that can be one. */
const gitRunOption =
  /^(--exec|-x|--upload-pack|--receive-pack|--extcmd|--open-files-in-pager|--index-filter|--tree-filter|--config|-c|-u)(=|$)|^-[Ox].|^-u(?!no$|normal$|all$).|^--(exe|upl|rec(?!u)|extc|open|sendmail-cmd)/;

// Builtins that evaluate array subscripts in their arguments, and with them substitutions in quotes.
define("[[", (args, { markUnclear, expandText }) => {
  markUnclear("it uses the shell keyword [[");
  for (const { text } of args) expandText(text);
  return nothing;
});

define("test [ printf", (args, { markUnclear, expandText }) => {
  for (const { text } of args) {
    if (/\w\[|\$\(|`|\$\{|\$\[/.test(text)) markUnclear("an argument can be evaluated as an array subscript");
    expandText(text);
  }
  if (args[0]?.text.startsWith("-v") && args.length > 2) markUnclear("it sets a variable");
  return nothing;
});

// Interpreters: the rule for the program covers a script file, but not program text in an argument or the input.
define(
  "python python2 python3 pypy node nodejs deno bun tsx ruby perl php lua luajit tclsh expect osascript R Rscript julia " +
    "elixir erl scala groovy jshell ghci irb ipython pwsh powershell",
  (args) => {
    const [first = "-"] = args.map(({ text }) => text);
    const isText = first.startsWith("-") && !/^(-V|-v|--version|--help|-m|--test)$/.test(first);
    return { spellings: [], runsText: isText || first === "eval" || first === "repl" };
  },
);

define("sed gsed", (args) => {
  const texts = args.map(({ text }) => text);
  const script = texts.find((text) => !text.startsWith("-")) ?? "";
  const isPlain = /^\d+(,\d+|,\$)?[pdq]$/.test(script) || /^s([/|#,])[^/|#,]*\1[^/|#,]*\1[gip]*$/.test(script);
  return { spellings: [], runsText: !isPlain || texts.some((text) => /^-(?![nErsz]+$)/.test(text)) };
});

// Programs that run a command or a text of their arguments in a way that is not parsed.
define(
  "ssh watch parallel script su runuser pkexec flock strace ltrace perf entr chroot unshare nsenter " +
    "systemd-run tmux screen docker podman kubectl npx pnpx bunx uvx vim vi nvim " +
    "fd fdfind poetry pipenv uv bundle mise direnv asdf setpriv valgrind watchexec nix-shell nix pee sqlite psql mysql " +
    "emacs gdb lldb bwrap firejail xvfb-run dbus-run-session prlimit numactl setarch unbuffer caffeinate socat nc ncat " +
    "tar bsdtar sort rsync scp sftp split man zip ld.so qemu-x86_64 start-stop-daemon rlwrap hyperfine fakeroot proot torsocks proxychains",
  (args) => ({ spellings: endsOf(args), runsText: args.some(({ text }) => /[\s;|&$`(!]/.test(text)) }),
);

define("npm pnpm yarn", (args) => {
  const runs = /^(exec|x|dlx|explore)$/.test(args[0]?.text ?? "");
  return { spellings: runs ? endsOf(args) : [], runsText: args.some(({ text }) => /^(-c|--call)/.test(text)) };
});

define("make gmake", (args) => ({
  spellings: [],
  runsText: args.some(({ text }) => /^(--eval|-f-$|-$)/.test(text)),
}));

define("at batch crontab ed ex awk gawk mawk nawk", () => ({ spellings: [], runsText: true }));

const readers: ReadonlySet<string> = new Set(
  "cat head tail wc ls grep egrep fgrep rg stat du df diff cmp cut nl od hexdump strings md5sum sha1sum sha256sum cksum test [ echo printf pwd dirname basename realpath readlink cd tree tac rev comm join paste fold expand true false which type date id whoami uname seq sleep".split(
    " ",
  ),
);
const writers: ReadonlySet<string> = new Set(
  "touch rm rmdir mkdir tee truncate chmod chown chgrp unlink shred mknod mkfifo".split(" "),
);
const copiers: ReadonlySet<string> = new Set(["cp", "mv", "ln", "install", "rsync", "scp"]);

/** How a program uses one of its arguments. */
export function accessOf(
  name: string,
  { index, count }: { readonly index: number; readonly count: number },
): PathAccess {
  if (readers.has(name)) return "read";
  if (writers.has(name) || (copiers.has(name) && index === count - 1)) return "write";
  return "unknown";
}
