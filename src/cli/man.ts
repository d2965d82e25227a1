/** `franca man`: the manual page, written from the help of every command. */
import type { Command } from "commander";
import { version } from "../server/version.ts";
import type { CommandContext } from "./command.ts";

export function define(command: Command, { wholeProgram }: CommandContext): void {
  command
    .addHelpText("after", "\nExamples:\n  $ franca man | man -l -\n  $ franca man > /usr/local/share/man/man1/franca.1")
    .action(async () => {
      process.stdout.write(manualOf(await wholeProgram()));
    });
}

/** As troff reads it: nothing in the text is a command of its own. */
const plain = (text: string): string =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll(/^([.'])/gm, "\\&$1");

export function manualOf(program: Command): string {
  const sections = [program, ...program.commands.filter((command) => command.name() !== "help")];
  return [
    `.TH FRANCA 1 "" "franca ${plain(version)}" "Franca"`,
    ".SH NAME",
    `franca \\- ${plain(program.description())}`,
    ".SH SYNOPSIS",
    ".B franca",
    "[command] [options]",
    ".SH COMMANDS",
    ...sections.slice(1).flatMap((command) => [".TP", `.B ${plain(command.name())}`, plain(command.description())]),
    ...sections
      .slice(1)
      .flatMap((command) => [`.SH FRANCA ${command.name().toUpperCase()}`, ".nf", plain(helpOf(command)), ".fi"]),
    ".SH SEE ALSO",
    plain("The documentation in docs/, and franca help <command>."),
    "",
  ].join("\n");
}

/** The help with its examples, and the help of the commands below. */
function helpOf(command: Command): string {
  let text = "";
  command.configureOutput({
    writeOut: (piece) => {
      text += piece;
    },
    getOutHelpWidth: () => 78,
  });
  command.outputHelp();
  return [
    text.trimEnd(),
    ...command.commands.filter((sub) => sub.name() !== "help").map((sub) => `\n${helpOf(sub)}`),
  ].join("\n");
}
