/** The coding agents that are tested: how each is set up, and the calls with which it makes, reads and changes `a.txt`. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pythonPackage, registryProgram } from '../../support/needs.ts';
import { type Agent, type Call, MODEL } from './agent-run.ts';

const TASK = 'Write a.txt.';
const LOOPS = 'test/clients/agent_loops.py';

const CODEX: Agent = {
  name: 'Codex',
  needs: [registryProgram('codex', 'npm: @openai/codex')],
  path: '/v1/responses',
  turns: () => [
    { name: 'exec_command', arguments: { cmd: 'echo hens > a.txt' } },
    { name: 'exec_command', arguments: { cmd: 'cat a.txt' } },
    { name: 'exec_command', arguments: { cmd: 'echo eggs >> a.txt' } },
  ],
  async setUp({ url, home }) {
    const settings = join(home, '.codex');
    await mkdir(settings);
    const config = `model = "${MODEL}"
model_provider = "local"
[model_providers.local]
name = "local"
base_url = "${url}/v1"
wire_api = "responses"
`;
    await writeFile(join(settings, 'config.toml'), config);
    const flags = ['--dangerously-bypass-approvals-and-sandbox', '--skip-git-repo-check'];
    return { program: 'codex', args: ['exec', ...flags, TASK], env: { CODEX_HOME: settings } };
  },
};

const CLAUDE_CODE: Agent = {
  name: 'Claude Code',
  needs: [registryProgram('claude', 'npm: @anthropic-ai/claude-code')],
  path: '/v1/messages',
  turns(work) {
    const file_path = join(work, 'a.txt');
    return [
      { name: 'Write', arguments: { file_path, content: 'hens\n' } },
      { name: 'Read', arguments: { file_path } },
      { name: 'Edit', arguments: { file_path, old_string: 'hens', new_string: 'hens\neggs' } },
    ];
  },
  setUp: ({ url }) => ({
    program: 'claude',
    args: ['-p', TASK, '--model', MODEL, '--dangerously-skip-permissions'],
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: 'key',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      // As root it asks for this.
      IS_SANDBOX: '1',
    },
  }),
};

const OPENCODE: Agent = {
  name: 'opencode',
  needs: [registryProgram('opencode', 'npm: opencode-ai')],
  path: '/v1/chat/completions',
  turns(work) {
    const filePath = join(work, 'a.txt');
    return [
      { name: 'write', arguments: { filePath, content: 'hens\n' } },
      { name: 'read', arguments: { filePath } },
      { name: 'edit', arguments: { filePath, oldString: 'hens', newString: 'hens\neggs' } },
    ];
  },
  async setUp({ url, home }) {
    const file = join(home, 'opencode.json');
    const provider = {
      npm: '@ai-sdk/openai-compatible',
      name: 'local',
      options: { baseURL: `${url}/v1` },
      models: { [MODEL]: {} },
    };
    const config = { provider: { local: provider }, model: `local/${MODEL}`, autoupdate: false };
    await writeFile(file, JSON.stringify(config));
    return {
      program: 'opencode',
      args: ['run', TASK],
      // It would ask for a list of all models in the world.
      env: { OPENCODE_CONFIG: file, OPENCODE_DISABLE_MODELS_FETCH: '1' },
    };
  },
};

const CONTINUE: Agent = {
  name: 'Continue',
  needs: [registryProgram('cn', 'npm: @continuedev/cli')],
  path: '/v1/chat/completions',
  turns(work) {
    const file_path = join(work, 'a.txt');
    return [
      { name: 'Write', arguments: { filepath: file_path, content: 'hens\n' } },
      { name: 'Read', arguments: { filepath: file_path } },
      { name: 'Edit', arguments: { file_path, old_string: 'hens', new_string: 'hens\neggs' } },
    ];
  },
  async setUp({ url, home }) {
    const file = join(home, 'config.yaml');
    const config = `name: local
version: 1.0.0
schema: v1
models:
  - name: ${MODEL}
    provider: openai
    model: ${MODEL}
    apiBase: ${url}/v1
    apiKey: none
    roles: [chat]
    capabilities: [tool_use]
`;
    await writeFile(file, config);
    return { program: 'cn', args: ['-p', '--auto', '--config', file, TASK] };
  },
};

const CLINE: Agent = {
  name: 'Cline',
  needs: [registryProgram('cline', 'npm: cline')],
  path: '/v1/chat/completions',
  turns(work) {
    const path = join(work, 'a.txt');
    return [
      { name: 'editor', arguments: { path, new_text: 'hens\n' } },
      { name: 'read_files', arguments: { files: [{ path }] } },
      { name: 'editor', arguments: { path, old_text: 'hens', new_text: 'hens\neggs' } },
    ];
  },
  setUp({ url, home }) {
    // Without a folder of its own it leaves a process behind.
    const own = ['--data-dir', join(home, 'data')];
    const provider = ['--provider', 'openai', '--apikey', 'none', '--modelid', MODEL];
    return {
      program: 'cline',
      first: ['auth', ...provider, '--baseurl', `${url}/v1`, ...own],
      args: [...own, TASK],
    };
  },
};

const AIDER: Agent = {
  name: 'aider',
  needs: [registryProgram('aider', 'PyPI: aider-chat')],
  path: '/v1/chat/completions',
  moves: 'the files, and its rules after the last question',
  turns: () => [
    // It puts in answers of its own: four before the first question, and one after each edit.
    ...[OWN, OWN, OWN, OWN],
    ...[editBlock('', 'hens'), OWN],
    ...[editBlock('hens', 'ducks'), OWN],
    ...[editBlock('ducks', 'hens\neggs'), OWN],
  ],
  setUp: ({ url }) => ({
    program: 'aider',
    args: [
      '--no-git',
      '--yes-always',
      '--no-pretty',
      '--no-check-update',
      '--analytics-disable',
      '--no-show-model-warnings',
      '--edit-format',
      'diff',
      '--model',
      `openai/${MODEL}`,
      'a.txt',
    ],
    env: {
      OPENAI_API_BASE: `${url}/v1`,
      OPENAI_API_KEY: 'none',
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
    },
    input: 'Write a.txt.\nGo on.\nGo on.\nGo on.\n',
  }),
};

/** No turn of the model's. */
const OWN = 'Ok.';

/** As aider wants it. */
function editBlock(before: string, after: string): string {
  const lines = (text: string) => (text === '' ? '' : `${text}\n`);
  return `a.txt\n\`\`\`\n<<<<<<< SEARCH\n${lines(before)}=======\n${lines(after)}>>>>>>> REPLACE\n\`\`\``;
}

/** A loop of a library in Python, with tools of its own. */
function pythonLoop(name: string, library: string, module: string, path: string): Agent {
  const calls: Call[] = [
    { name: 'write_file', arguments: { path: 'a.txt', text: 'hens\n' } },
    { name: 'read_file', arguments: { path: 'a.txt' } },
    { name: 'edit_file', arguments: { path: 'a.txt', old: 'hens', new: 'hens\neggs' } },
  ];
  return {
    name,
    needs: [pythonPackage(module, name)],
    path,
    turns: () => calls,
    setUp: ({ url }) => ({
      program: 'python3',
      args: [join(process.cwd(), LOOPS), library, `${url}/v1`, MODEL, TASK],
    }),
  };
}

export const AGENTS: readonly Agent[] = [
  CODEX,
  CLAUDE_CODE,
  OPENCODE,
  CONTINUE,
  CLINE,
  AIDER,
  pythonLoop('openai-agents', 'openai_agents', 'agents', '/v1/responses'),
  pythonLoop('pydantic-ai', 'pydantic_ai', 'pydantic_ai', '/v1/chat/completions'),
];
