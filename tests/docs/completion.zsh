# SPDX-License-Identifier: Apache-2.0
# completion.zsh FOLDER EXPECTED: types the beginning of each line of EXPECTED ("typed|word") into an interactive zsh on
# a terminal of its own, presses Tab, and looks for the word in the list.
zmodload zsh/zpty || exit 1
folder=$1 expected=$2 failed=0 count=0 last= listed=

# read_until TEXT: reads the other zsh's output up to there, at most 20 s
read_until() {
	local text= piece i
	for ((i = 0; i < 400; i++)); do
		if zpty -rt z piece; then
			text+=$piece
			[[ $text == *$1* ]] && break
		else
			sleep 0.05
		fi
	done
	REPLY=$text
}

zpty -b z "TERM=dumb zsh -f -i"
zpty -w z "PS1= PS2= RPS1=; unsetopt zle_bracketed_paste; stty cols 400 rows 2000; fpath=($folder \$fpath); autoload -Uz compinit; compinit -u -D; \
LISTMAX=0; setopt nobeep autolist nolistambiguous nomenucomplete noalwayslastprompt; zstyle ':completion:*' list-separator '#'; \
zstyle ':completion:*' menu no; bindkey '^I' list-choices; zle-line-init() { print -rn '<re''ady>' }; zle -N zle-line-init"
read_until '<ready>'

while IFS='|' read -r typed word; do
	if [[ $typed != "$last" ]]; then
		last=$typed
		# Tab lists; Ctrl-U empties the line, and the return ends it. The line editor prints <ready> when it has
		# switched the terminal: a Tab that is typed before this reaches the terminal's own editor, and is lost.
		zpty -w z "$typed"$'\t'$'\025'
		read_until '<ready>'
		listed=$REPLY
	fi
	count=$((count + 1))
	if [[ $listed != *"${word}"* ]]; then
		failed=$((failed + 1))
		print "zsh: '$typed': no $word in: ${listed[1,600]}"
	fi
done <$expected
zpty -d z
print "$count completions, $failed failed"
((failed == 0))
