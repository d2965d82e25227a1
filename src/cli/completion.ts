/** `franca completion`: a script for the shell, written from the same table as the help. */
import type { Command, Option } from "commander";
import type { CommandContext } from "./command.ts";
import { UsageError } from "./usage.ts";

export function define(command: Command, { wholeProgram }: CommandContext): void {
  command
    .argument("<shell>", "bash, zsh or fish")
    .addHelpText(
      "after",
      `
Examples:
  $ source <(franca completion bash)                                   # in ~/.bashrc
  $ source <(franca completion zsh)                                    # in ~/.zshrc
  $ franca completion fish > ~/.config/fish/completions/franca.fish`,
    )
    .action(async (shell: string) => {
      const writer = WRITERS[shell];
      if (writer === undefined) throw new UsageError(`There is no completion for ${shell}: bash, zsh or fish.`);
      process.stdout.write(writer(wordsOf(await wholeProgram())));
    });
}

interface Words {
  /** `sessions list`, or empty for the program itself. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly about: string }[];
  readonly options: readonly { readonly long: string; readonly short: string | null; readonly about: string }[];
}

function wordsOf(program: Command): Words[] {
  const visit = (command: Command, path: string): Words[] => [
    {
      path,
      commands: command.commands.filter(isShown).map((sub) => ({ name: sub.name(), about: sub.description() })),
      options: command.options
        .filter(({ hidden }) => !hidden)
        .map(({ long, short, description }: Option) => ({
          long: long ?? "",
          short: short ?? null,
          about: description,
        })),
    },
    ...command.commands
      .filter(isShown)
      .flatMap((sub) => visit(sub, path === "" ? sub.name() : `${path} ${sub.name()}`)),
  ];
  return visit(program, "");
}

/** Commander keeps it to itself which commands are hidden; the help is asked. */
const isShown = (command: Command): boolean =>
  command.parent?.createHelp().visibleCommands(command.parent).includes(command) ?? true;

const listOf = ({ commands, options }: Words): string =>
  [
    ...commands.map(({ name }) => name),
    ...options.flatMap(({ long, short }) => [long, ...(short === null ? [] : [short])]),
  ].join(" ");

const HEADER = "# Completion for franca. Written by: franca completion";

function bash(all: readonly Words[]): string {
  const cases = all.map((words) => `    "${words.path}") words="${listOf(words)}" ;;`).join("\n");
  return `${HEADER} bash
_franca() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path="" word words=""
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ "$word" == -* ]] && continue
    case "\${path:+$path }$word" in ${all
      .map(({ path }) => `"${path}"`)
      .filter((path) => path !== '""')
      .join("|")}) path="\${path:+$path }$word" ;; esac
  done
  case "$path" in
${cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [[ \${#COMPREPLY[@]} -eq 0 ]] && COMPREPLY=($(compgen -f -- "$current"))
}
complete -F _franca franca
`;
}

/** zsh runs the script of bash through its own compatibility. */
const zsh = (all: readonly Words[]): string =>
  `${HEADER} zsh\nautoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n${bash(all)}`;

const quote = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

function fish(all: readonly Words[]): string {
  const lines = all.flatMap(({ path, commands, options }) => {
    const names = path.split(" ").filter((name) => name !== "");
    const within = names.map((name) => `__fish_seen_subcommand_from ${name}`).join("; and ");
    const others = commands.map(({ name }) => name).join(" ");
    const first =
      names.length === 0 ? "__fish_use_subcommand" : `${within}; and not __fish_seen_subcommand_from ${others}`;
    return [
      ...commands.map(({ name, about }) => `complete -c franca -n ${quote(first)} -f -a ${name} -d ${quote(about)}`),
      ...options.map(({ long, short, about }) => {
        const condition = names.length === 0 ? "" : ` -n ${quote(within)}`;
        return `complete -c franca${condition} -l ${long.slice(2)}${short === null ? "" : ` -s ${short.slice(1)}`} -d ${quote(about)}`;
      }),
    ];
  });
  return `${HEADER} fish\n${lines.join("\n")}\n`;
}

const WRITERS: Readonly<Record<string, (all: readonly Words[]) => string>> = { bash, zsh, fish };
