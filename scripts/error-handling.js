/**
 * Checks with the compiler's types that errors in `src` have handlers; `npm run lint` runs it. An error without one
 * ends the whole process. Reports:
 *
 * - a promise that is dropped, also with `void`, without a rejection handler
 * - a promise that is kept in a variable, and that its function does not await, return or handle
 * - an async function in a place where its result is ignored
 * - an event emitter of Node or of a library without a listener for `error`
 */
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

/** Emitters that never emit `error`. */
const silent = new Set(["Hash", "Hmac", "Logger", "Session"]);

/** Returns a line for each place without error handling in the files of the program that `isChecked` accepts. */
export function findUnhandled(program, { root, isChecked }) {
  const checker = program.getTypeChecker();
  const findings = [];
  const report = (node, problem) => {
    const file = node.getSourceFile();
    const { line, character } = file.getLineAndCharacterOfPosition(node.getStart());
    const text = node.getText().split("\n")[0].slice(0, 100);
    findings.push(`${relative(root, file.fileName)}:${line + 1}:${character + 1}: ${problem}: ${text}`);
  };
  const rules = [droppedPromises, keptPromises, ignoredResults, emitters].map((rule) => rule(checker, report));
  for (const file of program.getSourceFiles().filter(({ fileName }) => isChecked(fileName))) {
    const visit = (node) => {
      for (const check of rules) check(node);
      ts.forEachChild(node, visit);
    };
    visit(file);
  }
  return findings;
}

/** Expression statements and `void` expressions. */
function droppedPromises(checker, report) {
  const check = (expression) => {
    const inner = ts.skipParentheses(expression);
    if (ts.isConditionalExpression(inner)) {
      check(inner.whenTrue);
      check(inner.whenFalse);
    } else if (isShortCircuit(inner)) check(inner.right);
    else if (ts.isVoidExpression(inner) || isAssignment(inner)) return;
    else if (isThenable(checker.getTypeAtLocation(inner)) && !isHandled(inner)) {
      report(inner, "a promise without a rejection handler");
    }
  };
  return (node) => {
    if (ts.isExpressionStatement(node) || ts.isVoidExpression(node)) check(node.expression);
  };
}

/** Variables and properties that hold the promise of a call. It may reject before the code that waits for it runs. */
function keptPromises(checker, report) {
  const isNew = (value) => {
    if (ts.isNewExpression(value)) return mayReject(value);
    if (!ts.isCallExpression(value) || !isThenable(checker.getTypeAtLocation(value)) || isHandled(value)) return false;
    if (value.expression.getText() === "Promise.resolve") return false;
    return methodOf(value) !== "get" || receiverOf(checker, value).symbol?.name !== "Map";
  };
  return (node) => {
    const value = initializerOf(node);
    if (value === null || !isNew(value)) return;
    const symbol = checker.getSymbolAtLocation(isAssignment(node) ? node.left : node.name);
    const scope = ts.findAncestor(node, (one) => ts.isFunctionLike(one) || ts.isSourceFile(one));
    const isIt = (one) => checker.getSymbolAtLocation(one) === symbol && !isInside(one, node);
    if (symbol !== undefined && isUsedIn(scope, isIt)) return;
    report(value, "a promise that is kept without a rejection handler");
  };
}

/** Whether the executor of `new Promise` uses its second parameter. */
function mayReject({ expression, arguments: [executor] = [] }) {
  return expression.getText() === "Promise" && ts.isFunctionLike(executor) && executor.parameters.length > 1;
}

/** The initial value of a variable or a property. */
function initializerOf(node) {
  if ((ts.isVariableDeclaration(node) || ts.isPropertyAssignment(node)) && node.initializer !== undefined) {
    return ts.skipParentheses(node.initializer);
  }
  return isAssignment(node) ? ts.skipParentheses(node.right) : null;
}

/** Whether the function itself, not one inside it, awaits, returns, handles or passes on what `isIt` accepts. */
function isUsedIn(scope, isIt) {
  let used = false;
  const visit = (node) => {
    if (used || (node !== scope && ts.isFunctionLike(node))) return;
    if (ts.isIdentifier(node) && isIt(node)) used = isUse(node);
    ts.forEachChild(node, visit);
  };
  visit(scope);
  return used;
}

function isUse(identifier) {
  const isName = ts.isPropertyAccessExpression(identifier.parent) && identifier.parent.name === identifier;
  const node = outermost(isName ? identifier.parent : identifier);
  const { parent } = node;
  if (ts.isAwaitExpression(parent) || ts.isReturnStatement(parent)) return true;
  // Passed to a function, or to one that waits for all of a list.
  if (ts.isCallExpression(parent) && parent.arguments.includes(node)) return true;
  if (ts.isArrayLiteralExpression(parent)) return true;
  // Another promise, which is checked itself.
  return ts.isPropertyAccessExpression(parent) && ["then", "catch", "finally"].includes(parent.name.text);
}

/** Functions that are passed where the type of the parameter or property returns `void`. */
function ignoredResults(checker, report) {
  const check = (expression) => {
    const inner = ts.skipParentheses(expression);
    const expected = checker.getContextualType(inner);
    if (expected === undefined) return;
    const wanted = (expected.isUnion() ? expected.types : [expected]).flatMap((type) => type.getCallSignatures());
    if (wanted.length === 0 || !wanted.every((signature) => isVoid(signature.getReturnType()))) return;
    const given = checker.getTypeAtLocation(inner).getCallSignatures();
    if (!given.some((signature) => isThenable(signature.getReturnType()))) return;
    const handles = ts.isArrowFunction(inner) && !ts.isBlock(inner.body) && isHandled(inner.body);
    if (!handles) report(inner, "an async function whose result is ignored");
  };
  return (node) => {
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) node.arguments?.forEach(check);
    else if (ts.isPropertyAssignment(node)) check(node.initializer);
    else if (ts.isShorthandPropertyAssignment(node)) check(node.name);
    else if (ts.isVariableDeclaration(node) && node.type && node.initializer) check(node.initializer);
    else if (ts.isReturnStatement(node) && node.expression) check(node.expression);
    else if (ts.isArrowFunction(node) && !ts.isBlock(node.body)) check(node.body);
  };
}

/** Calls that create an emitter. The listener has to be attached in the same function, or right where it is created. */
function emitters(checker, report) {
  return (node) => {
    if (!ts.isCallExpression(node) && !ts.isNewExpression(node)) return;
    const declaration = checker.getResolvedSignature(node)?.getDeclaration();
    if (declaration === undefined || !declaration.getSourceFile().fileName.includes("/node_modules/")) return;
    const type = checker.getTypeAtLocation(node);
    if (!isEmitter(type) || silent.has((type.aliasSymbol ?? type.symbol)?.name)) return;
    if (methodOf(node) !== null && returnsKnown(checker, node, type)) return;
    // Its callback gets the error.
    if (methodName(node) === "execFile" && node.arguments.some((argument) => ts.isFunctionLike(argument))) return;
    // `pipeline` and `for await` listen themselves.
    if (!isListenedTo(checker, node)) report(node, "an event emitter without a listener for `error`");
  };
}

/** Whether a method returns the emitter that it was called on, or the one that it was given. */
function returnsKnown(checker, call, type) {
  const receiver = receiverOf(checker, call);
  return isEmitter(receiver) && (receiver.symbol === type.symbol || methodOf(call) === "pipe");
}

function isListenedTo(checker, created) {
  let node = outermost(created);
  while (ts.isPropertyAccessExpression(node.parent) && ts.isCallExpression(node.parent.parent)) {
    node = outermost(node.parent.parent);
    if (isErrorListener(node)) return true;
  }
  const { parent } = node;
  if (ts.isCallExpression(parent) && methodName(parent) === "pipeline") return true;
  const name = ts.isVariableDeclaration(parent) ? parent.name : isAssignment(parent) ? parent.left : null;
  const symbol = name === null ? undefined : checker.getSymbolAtLocation(name);
  const scope = ts.findAncestor(created, (one) => ts.isFunctionLike(one) || ts.isSourceFile(one));
  return symbol !== undefined && hasListener(scope, (one) => checker.getSymbolAtLocation(one) === symbol);
}

function hasListener(scope, isIt) {
  let found = false;
  const visit = (node) => {
    if (found) return;
    if (isErrorListener(node)) {
      let receiver = node.expression.expression;
      while (ts.isCallExpression(receiver) && ts.isPropertyAccessExpression(receiver.expression)) {
        receiver = receiver.expression.expression;
      }
      found = isIt(receiver);
    } else if (ts.isForOfStatement(node) && node.awaitModifier && isIt(node.expression)) found = true;
    ts.forEachChild(node, visit);
  };
  visit(scope);
  return found;
}

function isErrorListener(node) {
  if (!ts.isCallExpression(node) || !["on", "once"].includes(methodOf(node))) return false;
  const [event] = node.arguments;
  return event !== undefined && ts.isStringLiteral(event) && event.text === "error";
}

/** Whether a chain ends with `.catch(handler)` or `.then(onFulfilled, onRejected)`, possibly before a `.finally()`. */
function isHandled(expression) {
  const inner = ts.skipParentheses(expression);
  if (!ts.isCallExpression(inner) || !ts.isPropertyAccessExpression(inner.expression)) return false;
  const { name, expression: receiver } = inner.expression;
  if (name.text === "catch") return inner.arguments.length > 0;
  if (name.text === "then") return inner.arguments.length > 1;
  return name.text === "allSettled" || (name.text === "finally" && isHandled(receiver));
}

function isThenable(type) {
  if (type.isUnion()) return type.types.some(isThenable);
  const then = type.getProperty("then");
  return then?.valueDeclaration !== undefined && ts.isFunctionLike(then.valueDeclaration);
}

function isEmitter(type) {
  return ["on", "emit", "removeAllListeners"].every((name) => type.getProperty(name) !== undefined);
}

const isInside = (node, outer) => ts.findAncestor(node, (one) => one === outer) !== undefined;

function outermost(node) {
  let outer = node;
  while (ts.isParenthesizedExpression(outer.parent) || ts.isConditionalExpression(outer.parent)) outer = outer.parent;
  return outer;
}

const isVoid = (type) => (type.flags & ts.TypeFlags.Void) !== 0;
const isAssignment = (node) => ts.isBinaryExpression(node) && ts.isAssignmentOperator(node.operatorToken.kind);
const isShortCircuit = (node) =>
  ts.isBinaryExpression(node) && ["&&", "||", "??"].includes(node.operatorToken.getText());
const methodOf = ({ expression }) => (ts.isPropertyAccessExpression(expression) ? expression.name.text : null);
const methodName = (call) => methodOf(call) ?? call.expression.getText();
const receiverOf = (checker, { expression }) => checker.getTypeAtLocation(expression.expression);

function openProgram(root) {
  const { config } = ts.readConfigFile(`${root}/tsconfig.json`, ts.sys.readFile);
  const { fileNames, options } = ts.parseJsonConfigFileContent({ ...config, include: ["src"] }, ts.sys, root);
  return ts.createProgram(fileNames, options);
}

function main() {
  const root = fileURLToPath(new URL("..", import.meta.url));
  const isChecked = (file) => !file.includes("/node_modules/") && !file.endsWith(".d.ts");
  const findings = findUnhandled(openProgram(root), { root, isChecked });
  for (const finding of findings) console.error(finding);
  if (findings.length === 0) return;
  console.error(`${findings.length} places without error handling (scripts/error-handling.js).`);
  process.exitCode = 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
