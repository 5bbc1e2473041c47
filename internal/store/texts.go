package store

// texts returns texts as arguments of a script.
func texts(all []string) []any {
	args := make([]any, len(all))
	for i, text := range all {
		args[i] = text
	}
	return args
}

// parseTexts takes in a list of texts. redis.Strings would take nil for an empty one.
func parseTexts(reply any) ([]string, error) {
	parts, ok := reply.([]any)
	if !ok {
		return nil, ErrReply
	}
	all := make([]string, len(parts))
	for i, part := range parts {
		text, ok := part.([]byte)
		if !ok {
			return nil, ErrReply
		}
		all[i] = string(text)
	}
	return all, nil
}
