"""The plots of the story grammar.

`[a|b|c]` is a random choice (nestable) and `{x}` a slot that is filled from the cast of the story:

| Slot | What it holds |
| --- | --- |
| `H`, `h`, `his`, `him`, `Hh`, `His` | the hero: name, then pronouns (capitalized at the end) |
| `F`, `f`, `fhis`, `fhim` | the friend, the same way |
| `hk`, `fk` | what the hero and the friend are, such as "a small fox" |
| `P`, `P_` | the place with its preposition; capitalized |
| `O`, `aO`, `AO`, `aAO` | the object: bare, with article, with adjective, with both |
| `OT` | the object as a title |
| `food`, `foodT` | the food; as a title |
| `B`, `aB`, `BT` | what is built: bare, with article, as a title |
| `C`, `CT` | the contest; as a title |
| `I`, `fear`, `lesson` | the instrument, the fear, the lesson of this story |
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Plot:
    """One plot: templates for its parts; `themes` are words with which a user may ask for it."""

    themes: tuple[str, ...]
    title: str
    summary: str
    lesson: str
    stages: tuple[str, ...]


OPENINGS = [
    "[Once upon a time|Long ago|Many years ago|Once], there was {hk} [named|called] {H} who lived {P}.",
    "{H} was {hk} who lived {P}.",
    "[There once was|There was once] {hk} [named|called] {H}. {Hh} lived {P}.",
    "{P_}, there lived {hk} [named|called] {H}.",
    "{P_} lived {hk}. {His} name was {H}.",
    "{H} lived {P}. {Hh} was {hk} with a [kind|warm|big|gentle|curious] heart.",
    "This is the story of {H}, {hk} who lived {P}.",
]

WEATHER = [
    "It was a [bright|cold|warm|windy|rainy|misty|golden|quiet] [morning|afternoon|evening].",
    "The [sun|morning sun] was [shining|warm and bright|just coming up], and the air smelled of [grass|rain|flowers|fresh bread|the sea|pine trees].",
    "[Rain tapped|A soft rain fell|Soft snow fell|A gentle wind blew] all around.",
    "The sky was [grey and heavy|blue and wide|pink and gold|full of small white clouds].",
    "Outside, the [birds were singing|leaves were turning gold|wind was humming|snow was soft and deep].",
]

HABITS = [
    "Every [morning|day|evening], {h} [liked to watch the clouds|went for a long walk|made a pot of tea|counted the stars|sang a little song|swept the path|said hello to everyone {h} met|looked out at the sky].",
    "{Hh} [loved|liked] [stories|music|long walks|rainy days|{food}|quiet mornings|asking questions|helping others] more than anything.",
    "{Hh} was [known for|proud of] {his} [{food}|big smile|careful work|good ideas|kind words|funny songs].",
    "",
]

ENDINGS = [
    "[From that day on|After that|Ever since], {H} and {F} were [the best of friends|good friends|always together].",
    "[And they all lived happily ever after.|And that was the end of a very good day.|That night, {H} slept [very well|soundly|with a smile].]",
    "{H} [never forgot|always remembered] that day.",
    "[When the stars came out|As the sun went down|That evening], {H} and {F} [walked home together|shared some {food}|sat side by side and watched the sky].",
    "{H} had learned that [{lesson}].",
    "And if you go there today, you may still [see {H} and {F} laughing together|hear them singing|find them sharing some {food}].",
]

# mood -> a line near the beginning of the story, and one near its end
MOOD_OPENINGS = {
    "happy": "[{H} woke up with a smile.|It was the happiest [day|morning] of the year.|Everyone was in a good mood.]",
    "sad": "[But {H} often felt sad.|Lately {H} had felt a little sad.|{H} missed {his} old friends, and it made {him} sad.]",
    "funny": "[Funny things always happened to {H}.|{H} was wearing {his} hat upside down, as usual.|{H} had put {his} boots on the wrong feet again.]",
    "scary": "[At night, strange shadows moved on the wall.|Nobody liked to go out after dark.|That night the wind howled like a wolf.]",
    "cozy": "[A small fire was glowing, and the kettle was humming.|It was warm inside, and the blankets were soft.|The room smelled of {food} and warm tea.]",
    "exciting": "[{H} could feel that something big was about to happen.|{His} heart was beating fast.|Today was the day of a great adventure.]",
    "peaceful": "[Everything was calm and still.|The world was quiet, and {H} felt at peace.|Nothing hurried, and nobody was cross.]",
    "magical": "[There was magic in the air.|Tiny lights danced between the leaves.|Some said the place was full of old magic.]",
    "sleepy": "[{H} yawned a long, slow yawn.|Everyone was a little sleepy that day.|{His} eyes felt heavy and soft.]",
    "hopeful": "[{H} had a feeling that good things were on their way.|{H} was full of hope.|Somewhere, {h} was sure, something good was waiting.]",
}

MOOD_ENDINGS = {
    "happy": "[{H} laughed and laughed.|It was a happy end to a happy day.|Everyone cheered, and {H} smiled from ear to ear.]",
    "sad": "[{H} was still a little sad, but {h} was not alone any more.|And slowly, the sadness became smaller.|{H} cried a little, and then {h} felt better.]",
    "funny": '[Then {F} sneezed so loudly that {H} fell over, and they both laughed until it hurt.|And to this day, {H} still puts {his} boots on the wrong feet.|"Next time," said {F}, "please bring a bigger hat!"]',
    "scary": "[After that, the dark was only the dark.|And the shadows never frightened {H} again.|But sometimes, when the wind howls, {H} still locks the door twice.]",
    "cozy": "[Then they sat by the fire and drank something warm.|{H} curled up under a soft blanket and listened to the rain.|The fire glowed, and all was warm and well.]",
    "exciting": '[It was the greatest adventure {H} had ever had.|"What an adventure!" said {F}.|{H} could hardly wait for the next adventure.]',
    "peaceful": "[The evening was calm, and the stars came out one by one.|And all was quiet and peaceful again.|{H} breathed slowly and listened to the quiet.]",
    "magical": "[And just for a moment, the air shone like gold.|A little magic stayed with {H} for ever.|High above, a star blinked as if it knew.]",
    "sleepy": "[Then {H} closed {his} eyes and fell fast asleep.|Soon {H} was asleep, and so was everyone else.|Good night, {H}. Sleep well.]",
    "hopeful": '[{H} knew that tomorrow would be even better.|From then on, {H} always had hope.|And {H} looked at the sky and thought, "Anything can happen."]',
}

FEARS = [
    "the dark", "deep water", "thunder", "high places", "the big old bridge", "the cave",
    "being alone", "the tall tree", "the cold sea", "loud noises"
]

BUILDABLES = [
    "boat", "kite", "tree house", "bridge", "raft", "little car", "snow house", "swing",
    "flying machine", "bird house", "cart", "sand castle"
]

CONTESTS = [
    "race", "baking contest", "singing contest", "boat race", "kite contest", "dancing contest",
    "sledge race", "painting contest", "swimming race"
]

PLOTS = [
    Plot(
        themes=("losing something", "looking for a lost {O}", "a lost {O}", "friendship"),
        title="[{H} and the Lost {OT}|The Lost {OT}]",
        summary="{H} loses {his} {O}, and {F} helps {him} find it [in the end|again].",
        lesson="[a good friend helps you look|it is easier to search together|what is lost can be found again]",
        stages=(
            "{H} had {aAO} that {h} [loved very much|never left behind|had been given by {his} grandmother|carried everywhere].",
            'One day, the {O} was gone. {H} looked [under the bed|behind the door|in every pocket|under the table] and [in the grass|behind the trees|on the shelf|beside the gate], but it was not there. [{H} felt sad.|{H} wanted to cry.|"Oh no," said {H}, "where can it be?"]',
            '{H} [met|went to see|ran to find] {F}, {fk}. "[Have you seen my {O}|I have lost my {O}. Can you help me]?" asked {H}. "[No, but I will help you look,|Let us look together,|Do not worry, we will find it,]" said {F}.',
            "[They looked in the long grass|They followed the little path|They walked all the way to the old bridge|They asked the birds], [and they looked beside the water|and they looked under every stone|and they looked behind the old wall|and they called and called]. [Nothing.|The {O} was not there.|But they found only leaves.]",
            "Then {F} [pointed|smiled and pointed|began to laugh]. \"[Look up there|Look over there|What is that]!\" There was the {O}, [hanging from a branch|shining under a leaf|lying in a nest|half hidden in the sand|on top of {H}'s own hat|at the bottom of {H}'s own bag].",
            '"[Thank you|Oh, thank you|You found it]!" said {H}. {Hh} [hugged|thanked] {F} and held the {O} tight.',
        ),
    ),
    Plot(
        themes=("making a new friend", "being lonely", "a new friend", "friendship", "kindness"),
        title="[{H} Makes a Friend|{H} and {F}|A Friend for {H}]",
        summary="{H} feels lonely until {h} helps {F}, and the two become friends.",
        lesson="[a kind word can start a friendship|friends can be found anywhere|helping is the best way to say hello]",
        stages=(
            "But {H} had [no one to play with|nobody to talk to|no friends nearby], and sometimes {h} felt [lonely|very alone|a little sad].",
            "One [morning|afternoon|day], {H} heard a [small|soft|strange] sound. [Behind a tree|Beside the path|Under a bush|Near the water], {h} saw {F}, {fk}. {F} was [crying|stuck in the mud|caught in a bush|looking very worried].",
            '"[What is wrong|Are you all right|Can I help you]?" asked {H}. "[I am lost|I cannot find my way home|I have dropped my {O} in the water|I am new here and I know nobody]," said {F}.',
            '"[Come with me|I will help you|You can stay with me|We can fix that]," said {H}. [They walked side by side|They worked all afternoon|They tried again and again|They talked all the way], and [soon everything was all right|before long {F} was smiling|little by little, {F} stopped being afraid].',
            '"[You are very kind|Nobody has ever been so kind to me|Thank you]," said {F}. "[Will you be my friend|Shall we play again tomorrow|Can I come back tomorrow]?" "[Yes|Of course|I would love that]," said {H}.',
        ),
    ),
    Plot(
        themes=("being afraid", "being brave", "courage", "facing a fear"),
        title="[{H} the Brave|How {H} Became Brave|{H} and the Dark]",
        summary="{H} is afraid of [the unknown|something], but with help from {F} {h} learns to be brave.",
        lesson="[being brave means trying even when you are afraid|even small hearts can be brave|fear gets smaller when you share it]",
        stages=(
            "There was one thing that {H} was afraid of: {fear}. [Nobody knew it.|{Hh} never told anyone.|It made {his} knees shake.]",
            'One [night|evening|day], {F}, {fk}, came to {H} and said, "[Please help me|I need your help|Come quickly]! My {O} is [on the other side|lost out there|stuck], and I cannot reach it alone."',
            'To help, {H} would have to face {fear}. {His} heart [beat fast|jumped|went thump, thump, thump]. "[I am afraid,|I do not think I can do it,|I am scared,]" said {H}.',
            '"[I am afraid too|Everyone is afraid sometimes|It is all right to be afraid]," said {F}. "[Hold my hand|Let us go together|Take one small step]." {H} took [a deep breath|one step, and then another|a slow breath and closed {his} eyes].',
            "[Step by step|Slowly, slowly|Little by little], they went on, and [it was not so bad|nothing terrible happened|the fear grew smaller and smaller]. [At last|In the end|Finally], they [found the {O}|had the {O} back|reached the {O}].",
            '"[You did it|You were so brave|I knew you could do it]!" said {F}. {H} [smiled|stood a little taller|felt as tall as a tree].',
        ),
    ),
    Plot(
        themes=("building something", "a boat", "making a kite", "not giving up", "trying again", "working together"),
        title="[{H} Builds a {BT}|The {BT}|{H}'s {BT}]",
        summary="{H} builds {aB}; it fails at first, but with {F}'s help it works.",
        lesson="[it is fine to fail if you try again|two heads are better than one|good things take time]",
        stages=(
            'One day {H} had an idea. "I am going to build {aB}!" {h} said. {Hh} collected [wood and string|old boxes and nails|sticks, glue and paint|everything {h} could find].',
            "{Hh} worked [all morning|for three days|from breakfast until supper]. But when {h} tried it, the {B} [fell apart|broke in two|wobbled and fell over|did not work at all]. [Crash!|Bang!|Oh dear!] {H} [sat down and sighed|wanted to give up|kicked a stone].",
            'Then {F}, {fk}, came by. "[What are you making|What is that|Why do you look so sad]?" asked {F}. "It was going to be {aB}," said {H}, "but [it will not stay together|I am doing something wrong|it is too hard]."',
            '{F} looked at it [carefully|from every side|for a long time]. "[It needs a stronger rope|You need one more piece here|I think this part is upside down|Let us make it smaller and stronger]," {f} said. So they [began again|worked together|tried once more].',
            'This time the {B} [held together|worked perfectly|stood strong and straight]. [Everyone came to look.|"Hooray!" they shouted.|{H} could hardly believe it.] "We made it together," said {H} [proudly|with a big smile|happily].',
        ),
    ),
    Plot(
        themes=("a storm", "a rescue", "helping someone", "being brave"),
        title="[{H} and the Storm|The Great Storm|The Night of the Storm]",
        summary="During a storm, {H} rescues {F} and brings {fhim} home safely.",
        lesson="[helping others makes you strong|a light in the dark can save a friend|storms always pass]",
        stages=(
            "One night a [great|terrible|wild] storm came. The wind [howled|roared|shook the windows], and [the rain fell like stones|lightning flashed across the sky|the trees bent low].",
            '{H} was [safe inside|just going to bed|drinking hot milk] when {h} heard a voice. "Help! Help!" It was {F}, {fk}, [stuck in a tree|caught in the river|lost in the dark|trapped under a fallen branch].',
            '{H} did not wait. {Hh} took {his} {O} [and ran out into the rain|and opened the door|and hurried into the storm]. "[Hold on|I am coming|Do not be afraid]!" {h} called.',
            "[The wind pushed and pulled|The path was wet and dark|It was hard to see], but {H} [did not stop|kept going|pushed on]. With the help of the {O}, {h} [reached|found|pulled out] {F} at last.",
            'They hurried back [together|side by side|hand in hand] and sat by the [fire|stove|lamp] until they were [warm and dry|warm again]. "[You saved me|Thank you for coming|I thought nobody would hear me]," said {F}. "[I will always come|That is what friends do|You would have done the same]," said {H}.',
        ),
    ),
    Plot(
        themes=("sharing", "kindness", "{food}", "being generous"),
        title="[{H} Shares|The Last of the {foodT}|Enough for Two]",
        summary="{H} shares {his} {food} with {F} and is rewarded with friendship.",
        lesson="[food tastes better when you share it|a small gift can be a big gift|there is always enough for two]",
        stages=(
            "{H} had [a big basket|a warm plate|a small bag] of {food}. It was [all {h} had for the day|{his} favourite food|a gift from {his} aunt].",
            'On the way home {h} met {F}, {fk}, sitting [by the road|on a stone|under a tree]. {F} looked [tired and hungry|cold and hungry|very thin]. "[I have not eaten since yesterday,|I am so hungry,|Please, I have nothing to eat,]" said {F}.',
            '{H} looked at the {food}. There was [not very much|only a little|just enough for one]. [But then|After a moment|Without thinking twice], {h} [sat down|smiled|opened it up] and said, "[Let us share|Half for you and half for me|Please, have some]."',
            "They ate together and [talked about everything|told each other stories|laughed at silly things]. [Somehow there was enough for both.|The {food} had never tasted so good.]",
            'The next [day|morning|week], {H} found {aAO} [on the doorstep|by the door|at the window]. There was a note: "[For my kind friend|Thank you for sharing|From {F}, with thanks]." {H} [smiled|was very happy|held it close].',
        ),
    ),
    Plot(
        themes=("a mystery", "a strange sound", "a strange light", "a secret", "something scary at night"),
        title="[{H} and the Mystery of the {OT}|The Strange Sound|The Secret of the {OT}]",
        summary="{H} hears a strange sound and finds out that it is only {F} with {aO}.",
        lesson="[most mysteries have a simple answer|it is better to look than to worry|strange things are often friendly]",
        stages=(
            "For [three|four|five|many] nights, there was a [strange sound|strange light|mystery]. [Tap, tap, tap.|Hum, hum, hum.|Clink, clink, clink.|Whoosh, whoosh.] Nobody knew [what it was|where it came from].",
            '["It is a ghost," said some. "It is the wind," said others.|Everyone was afraid to look.|People closed their windows and whispered.] But {H} was [curious|brave|not so sure]. "I will find out," {h} said.',
            "That night {H} [took a lamp|put on a warm coat|walked on tiptoe] and followed the sound [down the path|up the stairs|between the trees|past the old wall]. It grew [louder and louder|clearer and clearer].",
            '{H} [opened a small door|looked behind a big stone|pushed the leaves aside], and there was {F}, {fk}, with {aAO}. "[Oh, you found me,|Please do not be angry,|Oh, hello,]" said {F}. "[I only wanted to practise in secret|I was making a surprise|I could not sleep, so I was fixing this]."',
            '{H} began to laugh. "[So it was you|Everyone thinks you are a ghost|What a lovely secret]!" [The next day they told everyone, and everyone laughed.|"May I help you?" asked {H}, and {F} said yes.|So the mystery was solved.]',
        ),
    ),
    Plot(
        themes=("a journey", "an adventure", "delivering a {O}", "a quest", "travelling"),
        title="[{H}'s Long Journey|{H} and the {OT}|The Journey of {H}]",
        summary="{H} travels a long way to bring {aO} to {F}, and arrives in the end.",
        lesson="[a long road is walked one step at a time|a promise should be kept|the journey is part of the gift]",
        stages=(
            'One day {H} got a letter. "Please bring me the {AO}," it said. It was from {F}, {fk}, who lived [far away|over the hills|on the other side of the water|beyond the mountains].',
            'So {H} packed [some {food}|a warm blanket and a map|a bottle of water and some {food}] and [set off|started to walk|began the journey]. "I will be there [by evening|in three days|before the snow comes]," {h} said.',
            "First, {h} came to a [wide river|deep valley|dark wood]. There was no [bridge|road|light]. But a [friendly boatman|wise old owl|kind traveller|slow turtle] [showed {him} the way|helped {him} across|carried {him} over].",
            "Then came [a steep hill|thick fog|a cold night|a locked gate]. {H} was [tired|cold|ready to turn back], but {h} [thought of {his} promise|sang a song to keep going|rested for a while and went on].",
            '[At last|Finally|On the last day], {h} saw a little [light|house|gate]. {F} was waiting at the door. "[You came|You are here|I knew you would come]!" cried {F}. {H} gave {fhim} the {O}, and they [ate {food} together|talked all night|danced for joy].',
        ),
    ),
    Plot(
        themes=("a contest", "a race", "winning and losing", "a competition", "being kind"),
        title="[The Great {CT}|{H} and the Big {CT}|The {CT}]",
        summary="{H} enters a {C} but stops to help {F}, and finds that kindness matters more than winning.",
        lesson="[winning is not everything|kindness is better than a prize|a friend is the best prize]",
        stages=(
            "Every year there was a big {C}, and this year {H} wanted to win. {Hh} practised [every day|all week|from morning until night].",
            "The day of the {C} came. [Flags were flying|Music was playing|Everybody was there], and {H} was [ready|very nervous|full of hope]. {F}, {fk}, was in the {C} too.",
            "At first [everything went well|{H} was in front|it looked easy]. But then {H} saw that {F} had [fallen down|hurt {fhis} foot|lost {fhis} {O}|started to cry]. {H} could [go on and win|stop and help].",
            '{H} [stopped|turned around|did not think for long]. "[Come, take my hand,|Let me help you,|Do not worry, I am here,]" {h} said. They [finished together|came in last, side by side|crossed the line together].',
            "They did not win the {C}. But [everyone clapped|the crowd cheered|people stood up and cheered], and [the judge gave them a special prize for kindness|somebody gave them each {aO}|{F} gave {H} a hug that was better than any prize].",
        ),
    ),
    Plot(
        themes=("telling the truth", "saying sorry", "a mistake", "honesty"),
        title="[{H} Tells the Truth|The Broken {OT}|{H} Says Sorry]",
        summary="{H} breaks {F}'s {O}, tells the truth, and is forgiven.",
        lesson="[the truth makes your heart light|everyone makes mistakes|saying sorry is the first step to making things right]",
        stages=(
            "One day {H} was [playing|dancing|running about] at the home of {F}, {fk}. [Crash!|Bump!|Oh no!] {F}'s {AO} [fell to the floor|was broken in two|lay in pieces].",
            "Nobody had seen it. {H} [hid the pieces|put it behind a chair|covered it with a cloth] and [went home quickly|said nothing|ran away].",
            'But that night {h} could not [sleep|eat|sit still]. {His} heart felt [heavy|like a stone|very small]. "[I should have told the truth|What have I done|I must tell {F}]," thought {H}.',
            'In the morning {h} went back. "[I have to tell you something|I am so sorry|It was me]," said {H}. "I broke your {O}." {F} was quiet for a moment. Then {f} [smiled|took a deep breath|nodded].',
            '"[Thank you for telling me|That was brave of you|It was only a thing]," said {F}. "[We can mend it together|A friend is worth more than anything that can break|Let us fix it]." So they [got some glue|sat down at the table|worked side by side], and [soon the {O} was almost as good as new|the {O} looked even better than before].',
        ),
    ),
    Plot(
        themes=("music", "learning to play music", "practice", "learning something new", "a song"),
        title="[{H} Learns to Play|{H}'s Song|The Music of {H}]",
        summary="{H} learns to play the {I} with the help of {F}, one day at a time.",
        lesson="[practice makes perfect|every expert was once a beginner|a little every day goes a long way]",
        stages=(
            "More than anything, {H} wanted to play the {I}. But [the first sound was awful|it squeaked and squealed|every note came out wrong], and [the birds flew away|the neighbours closed their windows|even the cat hid under the bed].",
            '{F}, {fk}, heard it and came [to the door|over the wall|closer]. "[I can teach you|I would like to help you|I used to sound like that too]," said {F}.',
            'So every [day|evening|morning] they practised. [One note, then two, then three.|First slow, then a little faster.|Again and again and again.] Sometimes {H} was [tired|cross|ready to stop], but {F} said, "[Just once more|A little every day|You are getting better]."',
            "[Weeks went by.|Winter turned into spring.|The moon grew round and thin again.] Then there was a party, and {H} was asked to play. {His} hands [shook|were cold|trembled].",
            "{H} closed {his} eyes and played. The music was [soft and clear|bright as water|like a bird in the morning]. When it ended, [nobody moved for a moment|everyone was silent|there was a hush], and then everyone [clapped|cheered|jumped up and danced].",
        ),
    ),
    Plot(
        themes=("magic", "a magic {O}", "a wish", "wishes"),
        title="[The Magic {OT}|{H} and the Magic {OT}|Three Wishes]",
        summary="{H} finds a magic {O}, makes wishes, and learns to be content.",
        lesson="[the best things need no magic|be careful what you wish for|what you have is often enough]",
        stages=(
            'One day {H} found {aAO} [in the grass|under an old stone|at the bottom of a box|by the water]. When {h} touched it, it [began to glow|spoke in a small voice|grew warm]. "[I will give you three wishes|Make a wish|I am a magic {O}]," it said.',
            "{H} was [amazed|so surprised that {h} sat down|full of joy]. First, {h} wished for [a mountain of {food}|a house of gold|a hundred toys|clothes like a king]. [Poof!|Whoosh!|Ding!] And there it was.",
            "At first it was wonderful. But soon [it was far too much|{h} had no time for {his} friends|everything was in the way|{h} felt lonely]. {F}, {fk}, [came by and shook {fhis} head|looked in at the window|did not come to play any more].",
            '"[Are you happy|Is this what you wanted]?" asked {F}. {H} thought for a long time. "[No|Not really|I was happier before]," {h} said. So with the last wish {h} wished [for everything to be as it was|to be just {H} again|for a good day with a good friend].',
            "The {O} [went dark|flew away like a bird|turned into a plain old {O}], and {H} and {F} [went out to play|laughed and ran down the path|shared some simple {food}].",
        ),
    ),
    Plot(
        themes=("a quiet day", "bedtime", "a calm evening", "going to sleep", "something relaxing"),
        title="[A Quiet Day|Good Night, {H}|{H} and the Slow Day]",
        summary="{H} spends a slow, quiet day with {F} and falls asleep happy.",
        lesson="[a quiet day is a treasure|small things can be enough|rest is good for the heart]",
        stages=(
            "[There was nothing to do that day, and that was just right.|It was the kind of day when nothing has to be done.|Nobody was in a hurry.]",
            "In the morning {H} [ate some warm {food}|watered the flowers|watched the light on the wall]. Then {F}, {fk}, came to visit, and they [sat by the window|went for a slow walk|lay in the grass].",
            'They [counted clouds|listened to the wind|looked at an old {O}|read the same book]. "[That one looks like a boat|Listen, a bird|I could stay here for ever]," said {F}. {H} [nodded|smiled|agreed].',
            "In the afternoon [it rained a little, and they listened to the drops|the sun came in and warmed the floor|they made tea and ate {food}].",
            "When evening came, {F} said good night, and {H} went to bed. The [moon|first star|evening light] looked in at the window. [One by one, the lights went out.|The house was quiet.|Somewhere an owl called softly.] {H} [pulled up the blanket|closed {his} eyes|yawned] and [slept|dreamed of clouds|was soon asleep].",
        ),
    ),
    Plot(
        themes=("a garden", "planting a seed", "patience", "growing something"),
        title="[{H} and the Little Seed|The Seed|{H}'s Garden]",
        summary="{H} plants a seed, waits patiently, and sees it grow.",
        lesson="[good things grow slowly|patience is a kind of magic|small seeds become tall trees]",
        stages=(
            'One spring day {F}, {fk}, gave {H} a [tiny|small brown|round] seed. "[Plant it and wait|Take good care of it|It needs water, light and time]," said {F}.',
            '{H} dug a hole, put in the seed, and gave it water. Then {h} sat down and [waited|watched|looked at the ground]. Nothing happened. [The next day, nothing.|One day passed, and then another.] "[Maybe it is asleep|Maybe I did something wrong|Perhaps it needs a song]," thought {H}.',
            "{Hh} [sang to it|told it stories|kept the birds away|gave it water every morning]. [Rain came, and then sun.|The days grew warm.|A week went by.]",
            "Then one morning there was [a tiny green leaf|a little green point|something small and green]! {H} [jumped for joy|ran to tell {F}|danced around it]. Every day it grew [taller|a little more|higher].",
            'By the end of the summer it was [a tall sunflower|a bush full of berries|a small tree with red apples|a plant with bright flowers]. "[You were patient|You see, waiting works|It grew because you cared]," said {F}.',
        ),
    ),
    Plot(
        themes=("a birthday", "a party", "a surprise"),
        title="[{H}'s Birthday|The Surprise Party|A Surprise for {H}]",
        summary="{H} thinks that everyone forgot {his} birthday, but {F} has planned a surprise.",
        lesson="[good friends do not forget|a surprise can be worth the wait|you are loved more than you know]",
        stages=(
            "It was {H}'s birthday, but nobody [said a word about it|seemed to remember|had said \"happy birthday\"]. {H} [waited and waited|looked at the door|sighed].",
            '{Hh} went to see {F}, {fk}. "[I am too busy to talk|I have to go now|Not now, please]," said {F}, and [hurried away|closed the door|hid something behind {fhis} back]. {H} felt [very small|sad|forgotten].',
            'In the afternoon {h} took a long walk [all alone|by the water|up the hill]. "[Maybe birthdays are not so important|Perhaps next year|It is just a day]," {h} told {him}self.',
            'But when {h} came home, [the windows were full of lights|there was music|the door opened by itself]. "SURPRISE!" Everybody was there! There was [a cake with candles|a table full of {food}|a big cake and warm {food}], and {F} was holding {aAO}.',
            '"[We could never forget you|We have been planning this for weeks|Happy birthday, {H}]!" said {F}. {H} [did not know what to say|laughed and cried at the same time|hugged everyone twice].',
        ),
    ),
    Plot(
        themes=("being lost", "finding the way home", "getting lost"),
        title="[{H} Finds the Way Home|Lost|The Way Home]",
        summary="{H} gets lost and finds the way home with the help of {F}.",
        lesson="[it is good to ask for help|home is where someone waits for you|every path leads somewhere]",
        stages=(
            "One day {H} followed a [butterfly|bright leaf|strange bird|rolling ball] [too far|further and further]. When {h} looked up, {h} did not know where {h} was. [All the trees looked the same.|There was no path.|The light was going.]",
            '"[Hello|Is anybody there]?" called {H}. Only [the wind|an echo|a cricket] answered. {H} sat down on a [stone|log] and tried not to cry.',
            'Then {F}, {fk}, came along with {aAO}. "[Are you lost|Why are you sitting here]?" asked {F}. {H} [nodded|told {fhim} everything|pointed at the dark].',
            '"[When I am lost, I follow the water|I look for the brightest star|I remember the smells and sounds of home]," said {F}. "What do you remember?" {H} thought. "[I hear a bell|I smell {food}|I can see smoke over there]!"',
            "They [followed it|walked that way|went slowly], and [soon there was the path|there was the gate|a light shone between the leaves]. [Home!|There it was: home.] {H} [ran to the door|asked {F} to come in for {food}|waved the {O} in the air].",
        ),
    ),
]
