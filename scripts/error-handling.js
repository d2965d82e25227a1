/**
 * Checks with the compiler's types that every error in `src` has a handler. Reports promises whose rejection nothing
 * handles, async functions passed where the caller ignores the result, and event emitters of Node or of a library
 * without a listener for `error`. Each of these ends the whole process.
 *
 *   node scripts/error-handling.js [tsconfig]
 */
import { relative } from "node:path";
import ts from "typescript";

const root = process.cwd();
const [configFile = "tsconfig.json"] = process.argv.slice(2);
const { config } = ts.readConfigFile(configFile, ts.sys.readFile);
const parsed = ts.parseJsonConfigFileContent({ ...config, include: ["src"] }, ts.sys, root);
const program = ts.createProgram(parsed.fileNames, { ...parsed.options, skipLibCheck: true });
const checker = program.getTypeChecker();

const findings = [];

function checkFile(file) {
  const handled = emittersWithErrorListener(file);
  const visit = (node) => {
    checkNode(node, handled);
    ts.forEachChild(node, visit);
  };
  visit(file);
}

function checkNode(node, handled) {
  if (ts.isExpressionStatement(node)) checkDropped(node.expression);
  else if (ts.isVoidExpression(node)) checkDropped(node.expression);
  else if (isConciseVoidFunction(node)) checkDropped(node.body);
  if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
    for (const argument of node.arguments ?? []) checkIgnoredResult(argument);
    checkEmitter(node, handled);
  }
  if (ts.isPropertyAssignment(node)) checkIgnoredResult(node.initializer);
  if (ts.isShorthandPropertyAssignment(node)) checkIgnoredResult(node.name);
  if (ts.isVariableDeclaration(node) && node.type && node.initializer) checkIgnoredResult(node.initializer);
  if (ts.isReturnStatement(node) && node.expression) checkIgnoredResult(node.expression);
  if (ts.isArrowFunction(node) && !ts.isBlock(node.body)) checkIgnoredResult(node.body);
}

/** An arrow function `(): void => work()` drops the result of `work`. */
function isConciseVoidFunction(node) {
  return ts.isArrowFunction(node) && !ts.isBlock(node.body) && node.type?.kind === ts.SyntaxKind.VoidKeyword;
}

/** Reports a promise that is neither awaited, returned, stored nor given a rejection handler. */
function checkDropped(expression) {
  const inner = ts.skipParentheses(expression);
  if (ts.isVoidExpression(inner)) return;
  if (ts.isBinaryExpression(inner)) {
    // An assignment keeps the promise for another statement; `condition && work()` drops it.
    const operator = inner.operatorToken.kind;
    if (operator === ts.SyntaxKind.AmpersandAmpersandToken || operator === ts.SyntaxKind.QuestionQuestionToken) {
      checkDropped(inner.right);
    }
    return;
  }
  if (ts.isConditionalExpression(inner)) {
    checkDropped(inner.whenTrue);
    checkDropped(inner.whenFalse);
    return;
  }
  if (isThenable(checker.getTypeAtLocation(inner)) && !isHandled(inner)) {
    report(inner, "a promise without a rejection handler");
  }
}

/** Whether a chain ends with `.catch(handler)` or `.then(onFulfilled, onRejected)`, possibly before a `.finally()`. */
function isHandled(expression) {
  const inner = ts.skipParentheses(expression);
  if (!ts.isCallExpression(inner) || !ts.isPropertyAccessExpression(inner.expression)) return false;
  const { name, expression: receiver } = inner.expression;
  if (name.text === "catch") return inner.arguments.length > 0;
  if (name.text === "then") return inner.arguments.length > 1;
  return name.text === "finally" && isHandled(receiver);
}

/** Reports an async function in a place whose type promises that the result is not used. */
function checkIgnoredResult(expression) {
  const inner = ts.skipParentheses(expression);
  const expected = checker.getContextualType(inner);
  if (expected === undefined) return;
  const wanted = signaturesOf(expected);
  if (wanted.length === 0 || !wanted.every((signature) => isVoid(signature.getReturnType()))) return;
  const given = checker.getTypeAtLocation(inner).getCallSignatures();
  if (!given.some((signature) => isThenable(signature.getReturnType()))) return;
  if ((ts.isArrowFunction(inner) && !isAsync(inner) && !ts.isBlock(inner.body) && isHandled(inner.body)) || isSafe(inner)) return;
  report(inner, "an async function whose result is ignored by its caller");
}

const isAsync = (node) => node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.AsyncKeyword) ?? false;
const isSafe = () => false;

const signaturesOf = (type) =>
  (type.isUnion() ? type.types : [type]).flatMap((one) => one.getCallSignatures());

const isVoid = (type) => (type.flags & ts.TypeFlags.Void) !== 0;

function isThenable(type) {
  if (type.isUnion()) return type.types.some(isThenable);
  if ((type.flags & ts.TypeFlags.Object) === 0 && !type.isIntersection()) return false;
  const then = type.getProperty("then");
  return then !== undefined && checker.getTypeOfSymbol(then).getCallSignatures().length > 0;
}

/** Reports an emitter that this call creates and that nothing in the file listens to for errors. */
function checkEmitter(call, handled) {
  const signature = checker.getResolvedSignature(call);
  const declaration = signature?.getDeclaration();
  if (declaration === undefined || !declaration.getSourceFile().fileName.includes("/node_modules/")) return;
  if (!isEmitter(checker.getTypeAtLocation(call))) return;
  const callee = call.expression;
  // `emitter.on(…)` returns its own emitter.
  if (ts.isPropertyAccessExpression(callee) && isEmitter(checker.getTypeAtLocation(callee.expression)) && RETURNS_SELF.has(callee.name.text)) return;
  if (HARMLESS.has(calleeName(call))) return;
  const symbol = symbolOfResult(call);
  if (symbol !== null && handled.has(symbol)) return;
  if (symbol === null && isListenedToInPlace(call)) return;
  report(call, "an event emitter without a listener for `error`");
}

const RETURNS_SELF = new Set(["on", "once", "off", "addListener", "removeListener", "removeAllListeners", "prependListener", "setMaxListeners", "setEncoding", "pause", "resume", "unref", "ref", "setTimeout", "setNoDelay", "setKeepAlive", "pipe", "end", "destroy", "writeHead", "setHeader", "close", "listen", "closeAllConnections"]);
/** Emitters that never emit `error`. */
const HARMLESS = new Set(["process", "EventEmitter"]);

const calleeName = ({ expression }) => (ts.isPropertyAccessExpression(expression) ? expression.name.text : expression.getText());

function isEmitter(type) {
  const on = type.getProperty("on");
  const emit = type.getProperty("emit");
  return on !== undefined && emit !== undefined && type.getProperty("removeAllListeners") !== undefined;
}

/** The variable or property that holds the result of a call. */
function symbolOfResult(call) {
  let node = call;
  while (ts.isParenthesizedExpression(node.parent) || ts.isAwaitExpression(node.parent)) node = node.parent;
  // `make().on("close", …)` passes the emitter on.
  while (ts.isPropertyAccessExpression(node.parent) && RETURNS_SELF.has(node.parent.name.text)) {
    node = node.parent.parent;
    if (isErrorListener(node)) return null;
  }
  const { parent } = node;
  if (ts.isVariableDeclaration(parent) && ts.isIdentifier(parent.name)) return checker.getSymbolAtLocation(parent.name) ?? null;
  if (ts.isBinaryExpression(parent) && parent.operatorToken.kind === ts.SyntaxKind.EqualsToken) {
    return checker.getSymbolAtLocation(parent.left) ?? null;
  }
  return null;
}

function isListenedToInPlace(call) {
  let node = call;
  while (ts.isPropertyAccessExpression(node.parent) && ts.isCallExpression(node.parent.parent)) {
    node = node.parent.parent;
    if (isErrorListener(node)) return true;
  }
  return false;
}

function isErrorListener(node) {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return false;
  const [event] = node.arguments;
  return ["on", "once"].includes(node.expression.name.text) && event !== undefined && ts.isStringLiteral(event) && event.text === "error";
}

/** Variables on which the file calls `.on("error", …)` or `.once("error", …)`. */
function emittersWithErrorListener(file) {
  const found = new Set();
  const visit = (node) => {
    if (isErrorListener(node)) {
      let receiver = node.expression.expression;
      while (ts.isCallExpression(receiver) && ts.isPropertyAccessExpression(receiver.expression)) receiver = receiver.expression.expression;
      const symbol = checker.getSymbolAtLocation(receiver);
      if (symbol !== undefined) found.add(symbol);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function report(node, problem) {
  const file = node.getSourceFile();
  const { line, character } = file.getLineAndCharacterOfPosition(node.getStart());
  findings.push(`${relative(root, file.fileName)}:${line + 1}:${character + 1}: ${problem}: ${node.getText().split("\n")[0].slice(0, 100)}`);
}

for (const file of program.getSourceFiles()) {
  if (file.fileName.includes("/node_modules/") || file.isDeclarationFile) continue;
  checkFile(file);
}
for (const finding of findings) console.error(finding);
if (findings.length > 0) {
  console.error(`${findings.length} places without error handling.`);
  process.exitCode = 1;
}

