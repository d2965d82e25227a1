/** The prompts that commands use, by name: a bundle then holds these and no others. Loaded when somebody is asked. */
export { confirm, isCancel, multiselect, select, selectKey, text } from "@clack/prompts";
