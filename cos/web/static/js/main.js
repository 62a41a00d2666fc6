/** Puts the page together. */

import { read } from './api.js';
import { ApprovalsModel } from './approvals_model.js';
import { ApprovalsPane } from './approvals_pane.js';
import { Attention } from './attention.js';
import { startClock } from './clock.js';
import { Composer } from './composer.js';
import { Connection } from './connection.js';
import { ConversationHead, ConversationPane } from './conversation_pane.js';
import { CostPane } from './cost_pane.js';
import { byId, isWriting } from './dom.js';
import { keepDraft, readDraft } from './drafts.js';
import { startKeyboard } from './keyboard.js';
import { notice } from './notices.js';
import { OfflineNote } from './offline_note.js';
import { Outbox } from './outbox.js';
import { Panes } from './panes.js';
import { QueueView } from './queue_view.js';
import { SessionDialog } from './session_dialog.js';
import { SessionsModel } from './sessions_model.js';
import { SessionsPane } from './sessions_pane.js';
import { Shown } from './shown.js';
import { startTheme } from './theme.js';

const connection = new Connection();
const panes = new Panes();
const sessions = new SessionsModel();
const approvals = new ApprovalsModel(connection);
const outbox = new Outbox(connection);
const dialog = new SessionDialog(connection);
const cost = new CostPane();
const conversation = new ConversationPane({ waitsSince: (turnId) => approvals.waitsSince(turnId), seen: () => shown.seen() });
const composer = new Composer({ outbox, stop: () => shown.stop() });
const queue = new QueueView({ remove: (id) => shown.removeQueued(id), resume: () => shown.resumeQueue() });
const shown = new Shown({ connection, sessions, conversation, head: new ConversationHead(), composer, queue });
const sessionsPane = new SessionsPane({ model: sessions, open, chosen: () => shown.id });
const approvalsPane = new ApprovalsPane({ model: approvals, openSession: open });

function open(sessionId) {
  shown.show(sessionId);
  panes.show('conversation');
}

function fromAddress() {
  shown.fromAddress();
  if (shown.id) panes.show('conversation');
}

function begin() {
  shown.show(null);
  panes.show('conversation');
  composer.focus();
}

function toApprovals() {
  panes.show('approvals');
  approvalsPane.focus();
}

function toSessions() {
  panes.show('sessions');
  sessionsPane.focus();
}

async function readProfiles() {
  try {
    const { profiles, default: preferred } = await read('profiles');
    composer.setProfiles(profiles, preferred);
    cost.setKeys(keysOf(profiles));
  } catch (error) {
    notice(`The profiles could not be read: ${error.message}`, { tone: 'failed' });
  }
}

/** Keys of the tags in use. */
function keysOf(owners) {
  return owners.flatMap(({ tags }) => tags ?? []).map((tag) => tag.split(':')[0]);
}

/** What every client is told. @type {Record<string, (payload: any) => void>} */
const TOLD = {
  'session.updated': (session) => {
    if (!sessions.put(session)) sessions.reloadSoon();
    shown.updated(session);
  },
  'session.deleted': ({ session_id: id }) => {
    sessions.drop(id);
    shown.deleted(id);
  },
  'approval.requested': (approval) => approvals.put(approval),
  'approval.resolved': (approval) => approvals.put(approval),
  'cost.changed': () => {
    cost.changed();
    sessions.costChanged();
    shown.costChanged();
  },
  'database.changed': ({ trouble }) => databaseTrouble(trouble),
};

function databaseTrouble(trouble) {
  const node = byId('database');
  node.hidden = !trouble;
  node.textContent = trouble && trouble[0].toUpperCase() + trouble.slice(1);
}

connection.on('open', () => {
  sessions.reload();
  readProfiles();
  cost.changed();
});
connection.on('notification', (frame) => {
  const told = TOLD[frame.action];
  if (told) told(frame.payload);
  else shown.take(frame);
});
connection.on('refused', ({ sessionId, error }) => shown.refused(sessionId, error));
approvals.on('change', () => conversation.changed(null));
approvals.on('failed', (text) => notice(text, { tone: 'failed' }));
sessions.on('change', () => cost.setKeys(keysOf([...sessions.rows.values(), ...(composer.profiles ?? [])])));
outbox.on('accepted', ({ item, answer }) => {
  if (item.session_id === null && shown.id === null) {
    // What was written meanwhile belongs to the session that has just begun.
    keepDraft(answer.session_id, readDraft(null));
    keepDraft(null, '');
    open(answer.session_id);
  }
  if (answer.said) notice(answer.said, { stays: true });
  if (answer.trouble) notice(answer.trouble, { tone: 'failed', stays: true });
});
shown.on('change', () => sessionsPane.draw());

document.addEventListener('cos:approvals', toApprovals);
byId('begin').addEventListener('click', begin);
byId('edit-open').addEventListener('click', () => shown.session && dialog.open(shown.session));
byId('to-sessions').addEventListener('click', toSessions);
byId('filter-form').addEventListener('submit', (event) => event.preventDefault());
document.addEventListener('visibilitychange', () => shown.look());
panes.on('change', () => shown.look());
addEventListener('hashchange', fromAddress);
addEventListener('popstate', fromAddress);

startKeyboard({
  filter: () => {
    panes.show('sessions');
    sessionsPane.focusFilter();
  },
  begin,
  approvals: toApprovals,
  sessions: toSessions,
  write: () => {
    panes.show('conversation');
    composer.focus();
  },
  back: () => {
    const isWritingOrAside = isWriting(document.activeElement) || panes.current !== 'conversation';
    if (!isWritingOrAside) toSessions();
    else {
      panes.show('conversation');
      conversation.focus();
    }
  },
});
new Attention({ model: approvals, open: toApprovals });
new OfflineNote(connection);
startTheme();
startClock();
fromAddress();
connection.start();
